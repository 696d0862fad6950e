package plan

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// maxAliases limits the ExternalNames that an answer follows: they can form a loop.
const maxAliases = 8

// Answer is the answer to a DNS question.
type Answer struct {
	// Code is dns.RcodeSuccess or dns.RcodeNameError.
	Code      int
	Records   []dns.RR
	Authority []dns.RR
	// Outside is the name outside the cluster on which the rest of the answer depends; empty
	// if the answer is complete. See Resolved.
	Outside string

	kind uint16
}

// Answer answers a question. Of several records of one kind, turn selects the first.
func (z *Zone) Answer(question dns.Question, turn int) Answer {
	answer := Answer{kind: question.Qtype}
	name := question.Name
	for range maxAliases {
		records, known := z.lookup(strings.ToLower(name))
		if !known && !within(name) {
			answer.Code, answer.Outside = dns.RcodeNameError, name
			return answer
		}
		if !known {
			answer.Code = dns.RcodeNameError
			break
		}
		if alias := aliasOf(records); alias != "" && question.Qtype != dns.TypeCNAME && question.Qtype != dns.TypeANY {
			answer.Records = append(answer.Records, named(records, name)...)
			name = alias
			continue
		}
		answer.Records = append(answer.Records, named(rotate(ofKind(records, question.Qtype), turn), name)...)
		break
	}
	if len(answer.Records) == 0 || answer.Code != dns.RcodeSuccess {
		answer.Authority = []dns.RR{soa()}
	}
	return answer
}

// Resolved returns the answer completed by the addresses of the name Outside; none if it does not
// exist.
func (a Answer) Resolved(addresses []netip.Addr) Answer {
	if a.Outside == "" || len(addresses) == 0 {
		return a
	}
	a.Code = dns.RcodeSuccess
	for _, ip := range addresses {
		if ip.Is4() && (a.kind == dns.TypeA || a.kind == dns.TypeANY) {
			a.Records = append(a.Records, &dns.A{Hdr: header(a.Outside, dns.TypeA), A: ip.AsSlice()})
		}
	}
	return a
}

// lookup returns a name's records and whether the name exists.
func (z *Zone) lookup(name string) ([]dns.RR, bool) {
	if records, known := z.records[name]; known {
		return records, true
	}
	ip, ok := podAddress(name)
	if !ok {
		return nil, false
	}
	return []dns.RR{&dns.A{Hdr: header(name, dns.TypeA), A: ip.AsSlice()}}, true
}

// podAddress returns the address in the name of a pod. For example, 10-201-1-3.default.pod is
// 10.201.1.3, whether there is such a pod or not.
func podAddress(name string) (netip.Addr, bool) {
	rest, ok := strings.CutSuffix(name, "."+podsName)
	pod, namespace, both := strings.Cut(rest, ".")
	if !ok || !both || strings.Contains(namespace, ".") {
		return netip.Addr{}, false
	}
	ip, err := netip.ParseAddr(strings.ReplaceAll(pod, "-", "."))
	return ip, err == nil && ip.Is4()
}

// within reports whether a name belongs to the cluster.
func within(name string) bool { return dns.IsSubDomain(zoneName, name) }

// aliasOf returns the target of a CNAME record.
func aliasOf(records []dns.RR) string {
	if len(records) == 1 {
		if alias, ok := records[0].(*dns.CNAME); ok {
			return alias.Target
		}
	}
	return ""
}

func ofKind(records []dns.RR, kind uint16) []dns.RR {
	var found []dns.RR
	for _, record := range records {
		if kind == dns.TypeANY || record.Header().Rrtype == kind {
			found = append(found, record)
		}
	}
	return found
}

// rotate puts the first records last. Clients take the first one, so connections are spread.
func rotate(records []dns.RR, turn int) []dns.RR {
	if len(records) == 0 {
		return nil
	}
	first := turn % len(records)
	return slices.Concat(records[first:], records[:first])
}

// named returns copies of the records with the name as it was asked for: some resolvers compare it
// case by case.
func named(records []dns.RR, name string) []dns.RR {
	var copies []dns.RR
	for _, record := range records {
		c := dns.Copy(record)
		c.Header().Name = name
		copies = append(copies, c)
	}
	return copies
}
