// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rabbitmq_test

import (
	"testing"

	rabbitmqv1beta1 "github.com/rabbitmq/cluster-operator/v2/api/v1beta1"
	"github.com/rabbitmq/cluster-operator/v2/controllers"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kinformer/kinformer/e2e/simulated"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
	"github.com/kinformer/kinformer/simulate/simulatecr"
)

const cluster = `
apiVersion: rabbitmq.com/v1beta1
kind: RabbitmqCluster
metadata: {name: queue, namespace: default}
spec: {replicas: REPLICAS, image: rabbitmq, terminationGracePeriodSeconds: 60, persistence: {storage: SIZE}, rabbitmq: {additionalConfig: "CONFIG"}}
`

// pods executes commands that succeed.
type pods struct{}

func (pods) Exec(*kubernetes.Clientset, *rest.Config, string, string, string, ...string) (stdout, stderr string, err error) {
	return "true", "", nil
}

func setUp(m ctrl.Manager) error {
	clientset, err := kubernetes.NewForConfig(m.GetConfig())
	if err != nil {
		return err
	}
	return (&controllers.RabbitmqClusterReconciler{
		Client: m.GetClient(), APIReader: m.GetAPIReader(), Scheme: m.GetScheme(), Recorder: m.GetEventRecorderFor("rabbitmq"), Namespace: "default",
		ClusterConfig: m.GetConfig(), Clientset: clientset, PodExecutor: pods{},
	}).SetupWithManager(m)
}

func sized(replicas, size, config string) *unstructured.Unstructured {
	return simulated.Template(cluster)("REPLICAS", replicas, "SIZE", size, "CONFIG", config)
}

func reconfigure(w *simulate.World) { w.Update(sized("2", "1Gi", "log.console = true")) }

// rebalance is the annotation of a RabbitmqCluster whose queues have to be rebalanced.
const rebalance = "rabbitmq.com/queueRebalanceNeededAt"

func clusters(t *testing.T, steps ...func(*simulate.World)) simulate.Test {
	t.Helper()
	options := ctrl.Options{
		Scheme:         simulated.Scheme(rabbitmqv1beta1.AddToScheme),
		LeaderElection: true, LeaderElectionID: "rabbitmq-cluster-operator-leader-election",
	}
	return simulate.Test{
		CustomResources: []fake.CustomResource{simulated.Definition(t, "github.com/rabbitmq/cluster-operator/v2", "config/crd/bases/rabbitmq.com_rabbitmqclusters.yaml")},
		Objects:         []fake.Object{sized("2", "1Gi", "")},
		Start:           simulatecr.Start(options, setUp),
		Cluster:         simulate.Workloads(),
		Ignore:          []string{"Secret data", "metadata.annotations." + rebalance}, // random, and what TestQueuesAreNotRebalanced is about
		Steps: func(w *simulate.World) {
			for _, step := range steps {
				step(w)
				w.Settle()
			}
		},
	}
}

func TestRabbitmqCluster(t *testing.T) {
	simulate.Run(t, clusters(t,
		func(w *simulate.World) { w.Update(sized("3", "1Gi", "")) },
		func(w *simulate.World) { w.Update(sized("3", "2Gi", "")) },
	))
}

// After a restart of the Pods the queues are rebalanced only if the operator has seen the
// StatefulSet while it was updated. The annotation that says so is copied to all objects of the
// RabbitmqCluster, and stays there.
func TestQueuesAreNotRebalanced(t *testing.T) {
	test := clusters(t, reconfigure)
	test.Ignore = []string{"Secret data"}
	simulated.Finds(t, test, "metadata.annotations."+rebalance)
}

// The finalizer is removed by controllerutil.CreateOrUpdate, which creates a RabbitmqCluster if the
// cache has none any more.
func TestDeletedClusterIsCreatedAgain(t *testing.T) {
	simulated.Finds(t, clusters(t, func(w *simulate.World) { w.Delete(sized("2", "1Gi", "")) }), "RabbitmqCluster default/queue is")
}

// The ConfigMap of a changed configuration is annotated by a second write. If the first one is the
// last before a crash, no Pod is restarted. How many revisions the StatefulSet has had depends on
// the order of the events.
func TestPodsKeepOldConfiguration(t *testing.T) {
	simulated.FailsWith(t, clusters(t, reconfigure), simulate.Crash{Before: "2nd update of configmaps default/queue-server-conf"},
		"StatefulSet default/queue-server: no spec.template.metadata.annotations.rabbitmq.com/lastRestartAt")
}
