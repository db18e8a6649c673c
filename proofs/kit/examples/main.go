// Two targets of the kit: a phone with software keys, and a verifier of receipts and of the log.
// Numbers in comments are sections of the protocol page.
package main

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"sync"
)

// command answers the body of a command.
type command func(body object) object

// main serves a control adapter, one command at a time.
func main() {
	targets := map[string]map[string]command{"phone": phoneCommands(), "verifier": verifierCommands()}
	if len(os.Args) != 3 || targets[os.Args[1]] == nil {
		log.Fatal("usage: go run . phone|verifier ADDRESS")
	}
	var mutex sync.Mutex
	for name, run := range targets[os.Args[1]] {
		run := run
		http.HandleFunc("/"+name, func(w http.ResponseWriter, r *http.Request) {
			var body object
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			mutex.Lock()
			defer mutex.Unlock()
			io.WriteString(w, jcs(run(body)))
		})
	}
	log.Fatal(http.ListenAndServe(os.Args[2], nil))
}

// broken is the panic of require, which try returns as an error.
type broken string

func (b broken) Error() string { return string(b) }

// require panics if a rule is not kept.
func require(isKept bool, rule string) {
	if !isKept {
		panic(broken("not kept: " + rule))
	}
}

// try returns the rule that run does not keep, or nil.
func try(run func()) (err error) {
	defer func() {
		reason := recover()
		if rule, isBroken := reason.(broken); isBroken {
			err = rule
		} else if reason != nil {
			panic(reason)
		}
	}()
	run()
	return nil
}
