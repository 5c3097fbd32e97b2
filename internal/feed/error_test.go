// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package feed_test

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"testing"

	"github.com/kinformer/kinformer/internal/feed"
)

// TestCauseFirst compares the texts of failed requests, and checks that the errors are found in
// those with another text.
func TestCauseFirst(t *testing.T) {
	const target = `https://server/api/v1/pods?labelSelector=a%20in%20%28b%29`
	failed := &url.Error{Op: "Get", URL: target, Err: io.EOF}
	token := &url.Error{Op: "Post", URL: "https://login/token", Err: io.EOF}
	for _, c := range []struct {
		err  error
		want string
	}{
		{failed, `EOF (Get "` + target + `")`},
		{feed.CauseFirst(failed), `EOF (Get "` + target + `")`},
		{fmt.Errorf("WatchList: %w; again", failed), `WatchList: EOF; again (Get "` + target + `")`},
		{feed.WithText(failed, `Get "https://server/api/v1/pods?continue=...": EOF`), `EOF (Get "https://server/api/v1/pods?continue=...")`},
		{&url.Error{Op: "Get", URL: `a"b`, Err: io.EOF}, `EOF (Get "a\"b")`},
		{&url.Error{Op: "Get", URL: "https://server", Err: fmt.Errorf("no token: %w", token)}, `no token: Post "https://login/token": EOF (Get "https://server")`},
		{feed.WithText(failed, "Get lost"), "Get lost"},
		{feed.WithText(failed, `Get "https://server`), `Get "https://server`},
		{io.EOF, "EOF"},
	} {
		got := feed.CauseFirst(c.err)
		if got.Error() != c.want || !errors.Is(got, io.EOF) {
			t.Errorf("the text of %v is %v, want %s", c.err, got, c.want)
		}
		if _, ok := errors.AsType[*url.Error](got); ok != (c.err != io.EOF) {
			t.Errorf("%v is an url.Error: %t", got, ok)
		}
	}
	if err := feed.CauseFirst(nil); err != nil {
		t.Errorf("%v of no error", err)
	}
}
