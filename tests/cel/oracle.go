// The reference evaluator: cel-go with the libraries and limits that cluster selectors and condition rules have upstream.
// Reads JSON lines {id, env, expression, object, scores} and answers {id, value, cost} or {id, phase, error, cost}, in order.
// `env` is "selector" (variable managedCluster) or "condition" (variable object, and result, which is true).
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/library"
)

type question struct {
	ID         string                 `json:"id"`
	Env        string                 `json:"env"`
	Expression string                 `json:"expression"`
	Object     json.RawMessage        `json:"object"`
	Scores     map[string][]scoreItem `json:"scores"` // by "<cluster>/<name>"
}

type answer struct {
	ID    string  `json:"id"`
	Value *string `json:"value,omitempty"`
	Type  string  `json:"type,omitempty"`
	Phase string  `json:"phase,omitempty"`
	Error string  `json:"error,omitempty"`
	Cost  *uint64 `json:"cost,omitempty"`
}

// environment composes what both environments share with what is theirs alone.
func environment(own ...cel.EnvOption) (*cel.Env, error) {
	shared := []cel.EnvOption{
		cel.OptionalTypes(), ext.Strings(), library.Lists(), library.Regex(), library.URLs(), library.Quantity(), library.IP(),
		library.CIDR(), library.Format(), library.SemverLib(),
	}
	return cel.NewEnv(append(own, shared...)...)
}

type oracle struct {
	selector  *cel.Env
	condition *cel.Env
	scores    *scoreTable
}

func newOracle() (*oracle, error) {
	o := &oracle{scores: &scoreTable{}}
	var err error
	o.selector, err = environment(
		cel.Variable("managedCluster", cel.MapType(cel.StringType, cel.DynType)), o.scores.function(), parseJSONFunction())
	if err != nil {
		return nil, err
	}
	o.condition, err = environment(
		cel.Variable("object", cel.DynType), cel.Variable("result", cel.BoolType), hasConditionsFunction())
	return o, err
}

func (o *oracle) answer(q question) answer {
	out := answer{ID: q.ID}
	failed := func(phase string, err error) answer {
		out.Phase, out.Error = phase, err.Error()
		return out
	}
	env, variable := o.condition, "object"
	if q.Env == "selector" {
		env, variable = o.selector, "managedCluster"
	}
	checked, issues := env.Compile(q.Expression)
	if issues.Err() != nil {
		return failed("compile", issues.Err())
	}
	out.Type = checked.OutputType().String()
	program, err := env.Program(checked, cel.CostLimit(celconfig.PerCallLimit), cel.CostTracking(ownCosts{}),
		cel.InterruptCheckFrequency(celconfig.CheckFrequency))
	if err != nil {
		return failed("compile", err)
	}
	var object map[string]any
	if len(q.Object) > 0 {
		// The decoder of unstructured objects: whole numbers are int64, all others double.
		if err := utiljson.Unmarshal(q.Object, &object); err != nil {
			return failed("input", err)
		}
	}
	o.scores.items = q.Scores
	result, details, err := program.ContextEval(context.Background(), map[string]any{variable: object, "result": true})
	if details != nil {
		out.Cost = details.ActualCost()
	}
	if err != nil {
		return failed("evaluate", err)
	}
	text, err := render(result)
	if err != nil {
		return failed("evaluate", err)
	}
	out.Value = &text
	return out
}

func run() error {
	o, err := newOracle()
	if err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), 1<<26)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for in.Scan() {
		var q question
		if err := json.Unmarshal(in.Bytes(), &q); err != nil {
			return fmt.Errorf("%w: %s", err, in.Text())
		}
		line, err := json.Marshal(o.answer(q))
		if err != nil {
			return err
		}
		out.Write(line)
		out.WriteByte('\n')
	}
	return in.Err()
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
