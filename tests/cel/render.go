package main

import (
	"encoding/base64"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// render writes a value with its type, maps sorted: equal text is an equal answer.
func render(value ref.Val) (string, error) {
	switch v := value.(type) {
	case types.Bool:
		return strconv.FormatBool(bool(v)), nil
	case types.Int:
		return strconv.FormatInt(int64(v), 10), nil
	case types.Uint:
		return strconv.FormatUint(uint64(v), 10) + "u", nil
	case types.Double:
		return double(float64(v)), nil
	case types.String:
		return quoted(string(v)), nil
	case types.Bytes:
		return "b64(" + base64.StdEncoding.EncodeToString(v) + ")", nil
	case types.Null:
		return "null", nil
	case types.Duration:
		return fmt.Sprintf("duration(%d)", v.Duration.Nanoseconds()), nil
	case types.Timestamp:
		return fmt.Sprintf("timestamp(%d,%d)", v.Time.Unix(), v.Time.Nanosecond()), nil
	case *types.Optional:
		if !v.HasValue() {
			return "none", nil
		}
		inner, err := render(v.GetValue())
		return "optional(" + inner + ")", err
	case *types.Type:
		return "type(" + v.TypeName() + ")", nil
	case apiservercel.Quantity:
		return "quantity(" + v.Quantity.String() + ")", nil
	case *apiservercel.Quantity:
		return "quantity(" + v.Quantity.String() + ")", nil
	case apiservercel.IP:
		return "ip(" + v.Addr.String() + ")", nil
	case apiservercel.CIDR:
		return "cidr(" + v.Prefix.String() + ")", nil
	case apiservercel.URL:
		return "url(" + v.URL.String() + ")", nil
	case apiservercel.Semver:
		return "semver(" + v.Version.String() + ")", nil
	case apiservercel.Format:
		return "format(" + v.Name + ")", nil
	case traits.Mapper:
		var entries []string
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			left, err := render(key)
			if err != nil {
				return "", err
			}
			right, err := render(v.Get(key))
			if err != nil {
				return "", err
			}
			entries = append(entries, left+":"+right)
		}
		sort.Strings(entries)
		return "{" + strings.Join(entries, ",") + "}", nil
	case traits.Lister:
		var items []string
		for it := v.Iterator(); it.HasNext() == types.True; {
			item, err := render(it.Next())
			if err != nil {
				return "", err
			}
			items = append(items, item)
		}
		return "[" + strings.Join(items, ",") + "]", nil
	}
	return "", fmt.Errorf("no rendering for %T", value)
}

func double(v float64) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	}
	return strconv.FormatFloat(v, 'e', -1, 64)
}

// quoted escapes byte by byte, so that no two encoders have to agree on more.
func quoted(text string) string {
	var out strings.Builder
	out.WriteByte('"')
	for i := 0; i < len(text); i++ {
		if c := text[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			fmt.Fprintf(&out, "\\x%02x", c)
		} else {
			out.WriteByte(c)
		}
	}
	out.WriteByte('"')
	return out.String()
}
