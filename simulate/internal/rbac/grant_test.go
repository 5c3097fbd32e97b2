// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rbac_test

import (
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

// ruleOf returns a rule of "groups resources names verbs", each separated by commas, or of "paths
// verbs". The core group is "core", and no names are "-".
func ruleOf(text string) rbacv1.PolicyRule {
	fields := strings.Fields(text)
	values := func(i int) []string {
		if fields[i] == "-" {
			return nil
		}
		return strings.Split(strings.ReplaceAll(fields[i], "core", ""), ",")
	}
	if len(fields) == 2 {
		return rbacv1.PolicyRule{NonResourceURLs: values(0), Verbs: values(1)}
	}
	return rbacv1.PolicyRule{APIGroups: values(0), Resources: values(1), ResourceNames: values(2), Verbs: values(3)}
}

func TestGrants(t *testing.T) {
	p := read(t, roles, map[string]string{"system": "prod"})
	for _, test := range []struct {
		namespace, rules string // separated by semicolons
		missing          string
	}{
		{"x", "core pods,pods/status - get,list; core pods a get; apps deployments,deployments/scale,replicasets - *", ""},
		{"x", "apps * - *; core,apps */scale - update; core secrets one,two update; /metrics get; /debug/*,/debug/x get", ""},
		{"prod", "coordination.k8s.io leases - get,create", ""},
		{"x", "coordination.k8s.io leases - get,create", `{APIGroups:["coordination.k8s.io"], Resources:["leases"], Verbs:["get" "create"]}`},
		{"", "coordination.k8s.io leases - get", `{APIGroups:["coordination.k8s.io"], Resources:["leases"], Verbs:["get"]}`},
		{"x", "core pods - get,*", `{APIGroups:[""], Resources:["pods"], Verbs:["*"]}`},
		{"x", "core pods,* - get", `{APIGroups:[""], Resources:["*"], Verbs:["get"]}`},
		{"x", "*,core pods - get", `{APIGroups:["*"], Resources:["pods"], Verbs:["get"]}`},
		{"x", "core */status - get", `{APIGroups:[""], Resources:["*/status"], Verbs:["get"]}`},
		{"x", "core secrets - get", `{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}`},
		{"x", "core secrets one,three get,update", `{APIGroups:[""], Resources:["secrets"], ResourceNames:["three"], Verbs:["get" "update"]}`},
		{"", "/metrics/a,/metrics get,post", "{NonResourceURLs:[\"/metrics\"], Verbs:[\"post\"]}\n{NonResourceURLs:[\"/metrics/a\"], Verbs:[\"get\"]}\n{NonResourceURLs:[\"/metrics/a\"], Verbs:[\"post\"]}"},
		{"x", "core pods,nodes - watch,get; core pods - watch", "{APIGroups:[\"\"], Resources:[\"nodes\"], Verbs:[\"watch\" \"get\"]}\n{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"watch\" \"watch\"]}"},
	} {
		var rules []rbacv1.PolicyRule
		for text := range strings.SplitSeq(test.rules, ";") {
			rules = append(rules, ruleOf(text))
		}
		want := "<nil>"
		if test.missing != "" {
			want = `user "system:serviceaccount:default:program" (groups=["system:serviceaccounts" "system:serviceaccounts:default" "system:authenticated"])` +
				" is attempting to grant RBAC permissions not currently held:\n" + test.missing
		}
		if got := fmt.Sprint(p.CheckGrant(test.namespace, rules)); got != want {
			t.Errorf("%s in %q: got %s\nwant %s", test.rules, test.namespace, got, want)
		}
	}
}
