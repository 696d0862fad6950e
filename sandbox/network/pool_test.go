package network

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPool(t *testing.T) {
	const take = "take"
	tests := map[string]struct {
		gateway string
		// steps are "take" or an address to give back.
		steps []string
		want  []string
	}{
		"the gateway, the network and the broadcast address are not handed out": {
			gateway: "10.0.0.2/29",
			steps:   []string{take, take, take, take, take, take},
			want:    []string{"10.0.0.1", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6", "none"},
		},
		"an address given back is not the next one": {
			gateway: "10.0.0.1/29",
			steps:   []string{take, "10.0.0.2", take},
			want:    []string{"10.0.0.2", "10.0.0.3"},
		},
		"after the last address it starts again": {
			gateway: "10.0.0.1/29",
			steps:   []string{take, take, take, take, take, "10.0.0.3", take, take},
			want:    []string{"10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6", "10.0.0.3", "none"},
		},
		"the last one taken is given again when no other is free": {
			gateway: "10.0.0.1/30",
			steps:   []string{take, "10.0.0.2", take},
			want:    []string{"10.0.0.2", "10.0.0.2"},
		},
		"giving back what is not taken changes nothing": {
			gateway: "10.0.0.1/30",
			steps:   []string{"10.0.0.1", "10.0.0.3", "192.0.2.1", take, take},
			want:    []string{"10.0.0.2", "none"},
		},
		"a prefix that does not end at an octet": {
			gateway: "10.0.1.254/23",
			steps:   []string{take},
			want:    []string{"10.0.0.1"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			pool, err := newPool(netip.MustParsePrefix(tt.gateway))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, step := range tt.steps {
				if step != take {
					pool.release(netip.MustParseAddr(step))
					continue
				}
				addr, err := pool.take()
				switch {
				case errors.Is(err, ErrExhausted):
					got = append(got, "none")
				case err != nil:
					t.Fatal(err)
				default:
					got = append(got, addr.String())
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("addresses (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPoolTakesAWholePrefix(t *testing.T) {
	pool, err := newPool(netip.MustParsePrefix("10.0.0.1/24"))
	if err != nil {
		t.Fatal(err)
	}
	for n := range 253 {
		if _, err := pool.take(); err != nil {
			t.Fatalf("address %d of 253: %v", n+1, err)
		}
	}
	if addr, err := pool.take(); !errors.Is(err, ErrExhausted) {
		t.Errorf("after 253 addresses: got %s, %v, want ErrExhausted", addr, err)
	}
}

func TestNewPoolRefuses(t *testing.T) {
	tests := map[string]struct {
		gateway netip.Prefix
		want    string
	}{
		"no prefix":             {netip.Prefix{}, "not an IPv4 address"},
		"IPv6":                  {netip.MustParsePrefix("fd00::1/64"), "not an IPv4 address"},
		"no room for a pod":     {netip.MustParsePrefix("10.0.0.1/31"), "at most 30"},
		"the network's address": {netip.MustParsePrefix("10.0.0.0/24"), "choose another address"},
		"the broadcast address": {netip.MustParsePrefix("10.0.0.255/24"), "choose another address"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := newPool(tt.gateway); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error: got %v, want one that contains %q", err, tt.want)
			}
		})
	}
}
