// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// accept asks for Tables.
const accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"

// columns are the columns of a resource, as the server has defined them. They are safe for
// concurrent use.
type columns struct {
	mu      sync.Mutex // guards defined
	defined []metav1.TableColumnDefinition
}

// set replaces the columns. All events of a watch but the first come without.
func (c *columns) set(defined []metav1.TableColumnDefinition) {
	if len(defined) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.defined = defined
}

func (c *columns) get() []metav1.TableColumnDefinition {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.defined
}

// decodeTable decodes a Table. An aggregated API that has none answers with the objects, which then
// have the columns of kubectl for such objects.
func decodeTable(body []byte) (*metav1.Table, error) {
	table := &metav1.Table{}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber() // cells may be large integers
	if err := decoder.Decode(table); err != nil {
		return nil, fmt.Errorf("decode Table: %w", err)
	}
	if table.Kind == "Table" {
		return table, nil
	}
	return tableOfObjects(body)
}

// tableOfObjects returns a Table of a list, which has items, or of an object.
func tableOfObjects(body []byte) (*metav1.Table, error) {
	var list struct {
		metav1.ListMeta `json:"metadata"`

		Items json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("decode list: %w", err)
	}
	items := []json.RawMessage{body}
	if list.Items != nil { // an empty list may have null
		if err := json.Unmarshal(list.Items, &items); err != nil {
			return nil, fmt.Errorf("decode the items of a list: %w", err)
		}
	}
	table := &metav1.Table{ListMeta: list.ListMeta, ColumnDefinitions: []metav1.TableColumnDefinition{{Name: "Name"}, {Name: "Age"}}}
	for _, item := range items {
		var object metav1.PartialObjectMetadata
		if err := json.Unmarshal(item, &object); err != nil {
			return nil, fmt.Errorf("decode metadata: %w", err)
		}
		table.Rows = append(table.Rows, metav1.TableRow{Cells: []any{object.Name, ""}, Object: runtime.RawExtension{Raw: item}})
	}
	return table, nil
}

// rowsOf returns the rows of a Table.
func rowsOf(table *metav1.Table) ([]row, error) {
	rows := make([]row, len(table.Rows))
	for i := range table.Rows {
		for _, cell := range table.Rows[i].Cells {
			rows[i].cells = append(rows[i].cells, cellText(cell))
		}
		if err := rows[i].setMetadata(table.Rows[i].Object.Raw); err != nil {
			return nil, fmt.Errorf("row %d of the server's Table (%.100q): %w", i+1, rows[i].firstCell(), err)
		}
	}
	return rows, nil
}

// cellText returns a cell as kubectl prints it.
func cellText(cell any) string {
	if cell == nil {
		return ""
	}
	return fmt.Sprint(cell)
}
