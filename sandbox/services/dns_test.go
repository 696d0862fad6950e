package services

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/miekg/dns"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/sandbox/services/plan"
)

// writer keeps the reply to a request.
type writer struct {
	dns.ResponseWriter
	from  net.Addr
	reply *dns.Msg
}

func (w *writer) LocalAddr() net.Addr { return w.from }

func (w *writer) WriteMsg(m *dns.Msg) error {
	w.reply = m
	return nil
}

// ask returns the server's reply.
func ask(ctx context.Context, s *server, from net.Addr, request *dns.Msg) *dns.Msg {
	w := &writer{from: from}
	s.serve(ctx, w, request)
	return w.reply
}

// TestServerRefusesOtherCountsOfQuestions checks that such a request does not end the server. The
// library passes a header without a question on, whatever its count.
func TestServerRefusesOtherCountsOfQuestions(t *testing.T) {
	s := newServer()
	s.publish(crowd(1))
	header := new(dns.Msg)
	if err := header.Unpack([]byte{0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}); err != nil {
		t.Fatal(err)
	}
	two := new(dns.Msg).SetQuestion("crowd.ns.svc.cluster.local.", dns.TypeA)
	two.Question = append(two.Question, two.Question[0])
	for name, request := range map[string]*dns.Msg{"a count without a question": header, "two questions": two} {
		t.Run(name, func(t *testing.T) {
			reply := ask(t.Context(), s, &net.UDPAddr{}, request)
			if reply.Rcode != dns.RcodeFormatError || reply.Id != request.Id {
				t.Errorf("got %v, want FORMERR to the request's id", reply)
			}
		})
	}
}

// crowd has a headless Service with so many endpoints.
func crowd(count int) *plan.Zone {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "crowd"}, Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone}}
	slice := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4,
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Labels: map[string]string{discoveryv1.LabelServiceName: "crowd"}}}
	for i := range count {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.201.1.%d", i+1)}})
	}
	return plan.NewZone([]*corev1.Service{service}, []*discoveryv1.EndpointSlice{slice})
}

func TestServerTruncatesForUDP(t *testing.T) {
	s := newServer()
	s.publish(crowd(100))
	question := new(dns.Msg).SetQuestion("crowd.ns.svc.cluster.local.", dns.TypeA)
	large := question.Copy().SetEdns0(4096, false)
	tests := map[string]struct {
		from      net.Addr
		request   *dns.Msg
		truncated bool
		most      int
	}{
		"512 bytes by default":    {&net.UDPAddr{}, question, true, dns.MinMsgSize},
		"the size in the request": {&net.UDPAddr{}, large, false, 4096},
		"all by TCP":              {&net.TCPAddr{}, question, false, dns.MaxMsgSize},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			reply := ask(t.Context(), s, tt.from, tt.request)
			if reply.Truncated != tt.truncated || reply.Len() > tt.most || !tt.truncated && len(reply.Answer) != 100 {
				t.Errorf("got %d records in %d bytes, truncated %t; want at most %d bytes, truncated %t",
					len(reply.Answer), reply.Len(), reply.Truncated, tt.most, tt.truncated)
			}
		})
	}
}

// TestServerWaitsForTheServices checks that no name is denied before the Services are known.
func TestServerWaitsForTheServices(t *testing.T) {
	s := newServer()
	question := new(dns.Msg).SetQuestion("crowd.ns.svc.cluster.local.", dns.TypeA)
	ended, end := context.WithCancel(t.Context())
	end()
	if got := ask(ended, s, &net.UDPAddr{}, question).Rcode; got != dns.RcodeServerFailure {
		t.Errorf("without a zone: got %s, want SERVFAIL", dns.RcodeToString[got])
	}
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		replies := make(chan *dns.Msg, 1)
		go func() { replies <- ask(t.Context(), s, &net.UDPAddr{}, question) }()
		synctest.Wait()
		s.publish(crowd(1))
		if got := <-replies; len(got.Answer) != 1 {
			t.Errorf("a question from before the first zone: got %v", got)
		}
	})
}

// TestServerKnowsTheMachine checks that names outside the cluster are those of /etc/hosts: localhost is
// on every machine.
func TestServerKnowsTheMachine(t *testing.T) {
	s := newServer()
	if got := s.lookUp(t.Context(), "localhost."); len(got) == 0 || !got[0].IsLoopback() {
		t.Errorf("localhost: got %v", got)
	}
	if got := s.lookUp(t.Context(), "www.example.com."); got != nil {
		t.Errorf("www.example.com: got %v without a DNS server", got)
	}
}

func TestOptionsValidate(t *testing.T) {
	err := Options{DNS: netip.MustParseAddr("fd00::1"), Retry: -1}.Validate()
	for _, part := range []string{"Config", "Network", `"fd00::1"`, "negative"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("no %s in %v", part, err)
		}
	}
}
