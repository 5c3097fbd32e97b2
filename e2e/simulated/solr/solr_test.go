// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package solr_test

import (
	"testing"

	solrv1beta1 "github.com/apache/solr-operator/api/v1beta1"
	"github.com/apache/solr-operator/controllers"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kinformer/kinformer/e2e/simulated"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
	"github.com/kinformer/kinformer/simulate/simulatecr"
)

const cloud = `
apiVersion: solr.apache.org/v1beta1
kind: SolrCloud
metadata: {name: search, namespace: default}
spec:
  replicas: REPLICAS
  solrImage: {repository: solr, tag: "TAG"}
  updateStrategy: {method: StatefulSet}
  scaling: {vacatePodsOnScaleDown: false, populatePodsOnScaleUp: false}
  zookeeperRef: {connectionInfo: {internalConnectionString: "zk:2181", chroot: /}}
  dataStorage: {persistent: {reclaimPolicy: Delete, pvcTemplate: {spec: {resources: {requests: {storage: 1Gi}}}}}}
`

func setUp(m ctrl.Manager) error {
	controllers.UseZkCRD(false)
	return (&controllers.SolrCloudReconciler{Client: m.GetClient(), Scheme: m.GetScheme()}).SetupWithManager(m)
}

func solrClouds(t *testing.T, steps ...func(*simulate.World)) simulate.Test {
	t.Helper()
	return simulate.Test{
		CustomResources: []fake.CustomResource{simulated.Definition(t, "github.com/apache/solr-operator", "config/crd/bases/solr.apache.org_solrclouds.yaml")},
		Objects:         []fake.Object{sized("1", "9.6")},
		Start:           simulatecr.Start(ctrl.Options{Scheme: simulated.Scheme(solrv1beta1.AddToScheme)}, setUp),
		Cluster:         simulate.Workloads(),
		Steps: func(w *simulate.World) {
			for _, step := range steps {
				step(w)
				w.Settle()
			}
		},
	}
}

func sized(replicas, tag string) *unstructured.Unstructured {
	return simulated.Template(cloud)("REPLICAS", replicas, "TAG", tag)
}

func TestSolrCloud(t *testing.T) {
	test := solrClouds(t,
		func(w *simulate.World) { w.Update(sized("3", "9.6")) },
		func(w *simulate.World) { w.Update(sized("2", "9.7")) },
	)
	test.Disturb = []simulate.Disturbance{simulate.Crash{}, simulate.LostResponse{}, simulate.Conflict{}, simulate.Lag{}, simulate.Gap{}}
	simulate.Run(t, test)
}

// Reconcile does not end for a SolrCloud that is deleted: with a cache that is a moment old it
// creates the StatefulSet once more, whose claims stay, although their reclaim policy is Delete.
func TestDeletedCloudLeavesClaims(t *testing.T) {
	simulated.Finds(t, solrClouds(t, func(w *simulate.World) { w.Delete(sized("1", "9.6")) }), "PersistentVolumeClaim default/data-search-solrcloud-0 is")
}

// The error of the patch that scales the StatefulSet is overwritten by that of the retry queue,
// which is nil.
func TestErrorOfScalingIsDropped(t *testing.T) {
	test := solrClouds(t, func(w *simulate.World) { w.Update(sized("3", "9.6")) })
	test.Disturb = []simulate.Disturbance{ // the second one is that of the next event
		simulate.ServerError{To: "1st patch of statefulsets default/search-solrcloud"},
		simulate.ServerError{To: "2nd patch of statefulsets default/search-solrcloud"},
	}
	simulated.Finds(t, test, `StatefulSet default/search-solrcloud: spec.replicas is "1", and "3" in the undisturbed run`)
}
