package peers

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// The two lines that end a run of Ginkgo 1 and 2, without colours:
//
//	Ran 11 of 12 Specs in 7.508 seconds
//	SUCCESS! -- 11 Passed | 0 Failed | 0 Pending | 1 Skipped
var (
	ranLine    = regexp.MustCompile(`(?m)^Ran (\d+) of \d+ Specs in `)
	passedLine = regexp.MustCompile(`(?m)^SUCCESS! -- (\d+) Passed \| 0 Failed \|`)
)

// specs returns how many specs of a Ginkgo suite passed, as "11 of 11 specs passed". Specs that a label filter leaves out do not
// count. It returns an error unless at least one spec ran and all of these passed.
func specs(output string) (string, error) {
	ran, passed := ranLine.FindStringSubmatch(output), passedLine.FindStringSubmatch(output)
	if ran == nil || passed == nil {
		return "", errors.New("the suite's output does not end as one of Ginkgo that succeeds")
	}
	of, err := strconv.Atoi(ran[1])
	if err != nil {
		return "", fmt.Errorf("read the number of specs: %w", err)
	}
	if of == 0 || passed[1] != ran[1] {
		return "", fmt.Errorf("%s of %s specs passed", passed[1], ran[1])
	}
	return fmt.Sprintf("%s of %s specs passed", passed[1], ran[1]), nil
}

// row returns a row of the table that a run prints.
func row(peer, what, result string, took time.Duration) string {
	return fmt.Sprintf("| %s | %s | %s | %.0f s |\n", peer, what, result, took.Seconds())
}
