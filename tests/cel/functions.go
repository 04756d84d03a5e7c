package main

import (
	"encoding/json"
	"math"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// The functions that Open Cluster Management adds, restated.

type scoreItem struct {
	Name  string `json:"name"`
	Value int32  `json:"value"`
}

type scoreTable struct{ items map[string][]scoreItem }

func (t *scoreTable) function() cel.EnvOption {
	return cel.Function("scores", cel.MemberOverload("cluster_scores", []*cel.Type{cel.DynType, cel.StringType},
		cel.ListType(cel.DynType), cel.BinaryBinding(t.scores)))
}

func (t *scoreTable) scores(cluster, name ref.Val) ref.Val {
	top, ok := cluster.(traits.Mapper)
	if !ok {
		return types.NewErr("scores: the receiver is no map")
	}
	metadata, found := top.Find(types.String("metadata"))
	if !found {
		return types.NewErr("scores: no metadata")
	}
	inner, ok := metadata.(traits.Mapper)
	if !ok {
		return types.NewErr("scores: metadata is no map")
	}
	clusterName, found := inner.Find(types.String("name"))
	if text, isText := clusterName.(types.String); found && isText {
		items, known := t.items[string(text)+"/"+string(name.(types.String))]
		if !known {
			return types.NewErr("scores: no such score")
		}
		list := []ref.Val{}
		for _, item := range items {
			list = append(list, types.DefaultTypeAdapter.NativeToValue(map[string]any{"name": item.Name, "value": item.Value}))
		}
		return types.DefaultTypeAdapter.NativeToValue(list)
	}
	return types.NewErr("scores: no name")
}

func parseJSONFunction() cel.EnvOption {
	return cel.Function("parseJSON", cel.MemberOverload("parse_json_string", []*cel.Type{cel.StringType}, cel.DynType,
		cel.UnaryBinding(func(text ref.Val) ref.Val {
			var value any
			if err := json.Unmarshal([]byte(text.(types.String)), &value); err != nil {
				return types.NewErr("parseJSON: %v", err)
			}
			return types.DefaultTypeAdapter.NativeToValue(value)
		})))
}

func hasConditionsFunction() cel.EnvOption {
	return cel.Function("hasConditions", cel.Overload("status_has_conditions", []*cel.Type{cel.DynType}, cel.BoolType,
		cel.UnaryBinding(func(status ref.Val) ref.Val {
			if fields, ok := status.(traits.Mapper); ok {
				if conditions, found := fields.Find(types.String("conditions")); found {
					list, ok := conditions.(traits.Lister)
					return types.Bool(ok && list.Size() != types.IntZero)
				}
			}
			return types.False
		})))
}

// ownCosts says what the two functions above cost that have a price; all others are left to the evaluator.
type ownCosts struct{}

func (ownCosts) CallCost(function, _ string, args []ref.Val, result ref.Val) *uint64 {
	var cost uint64
	switch function {
	case "scores":
		cost = common.ListCreateBaseCost
		if list, ok := result.(traits.Lister); ok {
			cost += uint64(list.Size().(types.Int)) * (common.SelectAndIdentCost + common.MapCreateBaseCost)
		}
	case "parseJSON":
		length := float64(args[0].(traits.Sizer).Size().(types.Int))
		cost = uint64(math.Ceil(length*common.StringTraversalCostFactor)) + structureCost(result)
	default:
		return nil
	}
	return &cost
}

func structureCost(value ref.Val) uint64 {
	switch v := value.(type) {
	case traits.Mapper:
		cost := uint64(common.MapCreateBaseCost)
		for it := v.Iterator(); it.HasNext() == types.True; {
			cost += structureCost(v.Get(it.Next()))
		}
		return cost
	case traits.Lister:
		cost := uint64(common.ListCreateBaseCost)
		for it := v.Iterator(); it.HasNext() == types.True; {
			cost += structureCost(it.Next())
		}
		return cost
	}
	return 0
}
