// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package defaults

import (
	"cmp"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
)

// metricsAnnotation has the metrics of an autoscaler other than that of CPU, in autoscaling/v1.
const metricsAnnotation = "autoscaling.alpha.kubernetes.io/metrics"

func setAutoscalerV1(autoscaler *autoscalingv1.HorizontalPodAutoscaler) {
	setNil(&autoscaler.Spec.MinReplicas, 1)
	if autoscaler.Annotations[metricsAnnotation] == "" {
		setNil(&autoscaler.Spec.TargetCPUUtilizationPercentage, 80)
	}
}

func setAutoscaler(autoscaler *autoscalingv2.HorizontalPodAutoscaler) {
	spec := &autoscaler.Spec
	setNil(&spec.MinReplicas, 1)
	if len(spec.Metrics) == 0 {
		target := autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: new(int32(80))}
		spec.Metrics = []autoscalingv2.MetricSpec{{
			Type:     autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricSource{Name: corev1.ResourceCPU, Target: target},
		}}
	}
	if spec.Behavior != nil {
		byPercent := autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: 15}
		byPods := autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PodsScalingPolicy, Value: 4, PeriodSeconds: 15}
		spec.Behavior.ScaleUp = scalingRules(spec.Behavior.ScaleUp, byPods, byPercent)
		setNil(&spec.Behavior.ScaleUp.StabilizationWindowSeconds, 0)
		spec.Behavior.ScaleDown = scalingRules(spec.Behavior.ScaleDown, byPercent)
	}
}

// scalingRules returns the rules with the defaults of one direction.
func scalingRules(rules *autoscalingv2.HPAScalingRules, policies ...autoscalingv2.HPAScalingPolicy) *autoscalingv2.HPAScalingRules {
	rules = cmp.Or(rules, &autoscalingv2.HPAScalingRules{})
	setNil(&rules.SelectPolicy, autoscalingv2.MaxChangePolicySelect)
	if rules.Policies == nil {
		rules.Policies = policies
	}
	return rules
}
