// types prints templates/sandbox/types.facts for the version of Kubernetes that ../go.mod pins: the shape of its API types, from
// the Go declarations of the modules that kube-apiserver is built of. (Its OpenAPI has neither protobuf numbers nor what is a
// pointer, which decides how an object is written.) overrides.txt has what is left out.
//
//	tests/kube/types.sh
package main

import (
	"bufio"
	"fmt"
	"go/ast"
	"os"
	"regexp"
	"sort"
	"strings"
)

const header = `# Facts of the API types of Kubernetes %s (names, protobuf numbers, list and patch markers), one message a line:
#   <package>.<Type> <K: an object with apiVersion and kind, A: merged as a whole> <field>...
#   <field> = <json name, ~: inlined>:<protobuf number>:<type>:<flags p pointer, r list, m map, L map of lists, i inlined, o omitted when empty, z even if a struct, q required>[:<markers>]
#   <markers>, joined by +: La atomic list, Ls set, Lm=<keys> list map, Ma atomic map, Pm[=<key>] merged by strategic patches, Pr retainKeys, Px replace, D=<default>
# Written by tests/kube/types.sh from the modules that tests/kube/go.mod pins; not to be edited.
`

// Types of Go that have a form of their own on the wire.
var forms = map[string]string{
	"string": "string", "bool": "bool", "int32": "int32", "int64": "int64", "float64": "double",
	"k8s.io/apimachinery/pkg/apis/meta/v1.Time":       "time",
	"k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime":  "microtime",
	"k8s.io/apimachinery/pkg/apis/meta/v1.Duration":   "duration",
	"k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1":   "fieldsv1",
	"k8s.io/apimachinery/pkg/api/resource.Quantity":   "quantity",
	"k8s.io/apimachinery/pkg/util/intstr.IntOrString": "intorstring",
	"k8s.io/apimachinery/pkg/runtime.RawExtension":    "raw",
	"k8s.io/apimachinery/pkg/types.UID":               "string",
	"k8s.io/apimachinery/pkg/types.NodeName":          "string",
	apiextensions + ".JSON":                           "json",
	apiextensions + ".JSONSchemaPropsOrBool":          "schemaorbool",
	apiextensions + ".JSONSchemaPropsOrArray":         "schemaorarray",
	apiextensions + ".JSONSchemaPropsOrStringArray":   "schemaorstrings",
}

const (
	anything      = "any"
	apiextensions = "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	meta          = "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "types:", err)
		os.Exit(1)
	}
}

// What a type of Go is on the wire.
type shape struct {
	pointer, list, dictionary bool
	lists                     bool   // the dictionary's values are lists
	form                      string // "string", "core/v1.Pod"
}

type generator struct {
	packages []*apiPackage
	byPath   map[string]*apiPackage
}

func (g *generator) shapeOf(p *apiPackage, imports map[string]string, expression ast.Expr) shape {
	switch typed := expression.(type) {
	case *ast.StarExpr:
		inner := g.shapeOf(p, imports, typed.X)
		inner.pointer = true
		return inner
	case *ast.ArrayType:
		if element, ok := typed.Elt.(*ast.Ident); ok && element.Name == "byte" {
			return shape{form: "bytes"}
		}
		inner := g.shapeOf(p, imports, typed.Elt)
		return shape{list: true, form: inner.form}
	case *ast.MapType:
		inner := g.shapeOf(p, imports, typed.Value)
		return shape{dictionary: true, lists: inner.list, form: inner.form}
	case *ast.SelectorExpr:
		return g.named(imports[typed.X.(*ast.Ident).Name], typed.Sel.Name)
	case *ast.Ident:
		if form, ok := forms[typed.Name]; ok {
			return shape{form: form}
		}
		return g.named(p.path, typed.Name)
	case *ast.InterfaceType:
		return shape{form: anything}
	}
	return shape{form: fmt.Sprintf("?%T", expression)}
}

func (g *generator) named(path, name string) shape {
	if form, ok := forms[path+"."+name]; ok {
		return shape{form: form}
	}
	p := g.byPath[path]
	if p == nil || p.types[name] == nil {
		return shape{form: "?" + path + "." + name}
	}
	switch underlying := p.types[name].Type.(type) {
	case *ast.StructType:
		return shape{form: p.name + "." + name}
	case *ast.ArrayType:
		// A named list of strings is a message of its own in protobuf.
		if inner := g.shapeOf(p, p.imports[name], underlying); inner.form == "string" {
			return shape{form: "strings"}
		}
	}
	return g.shapeOf(p, p.imports[name], p.types[name].Type)
}

var marker = regexp.MustCompile(`(?m)^\+([A-Za-z0-9:]+)(?:=(.*))?$`)

func markersOf(doc string) map[string][]string {
	found := map[string][]string{}
	for _, match := range marker.FindAllStringSubmatch(doc, -1) {
		found[match[1]] = append(found[match[1]], strings.TrimSpace(match[2]))
	}
	return found
}

func tagOf(field *ast.Field, key string) string {
	if field.Tag == nil {
		return ""
	}
	match := regexp.MustCompile(key + `:"([^"]*)"`).FindStringSubmatch(field.Tag.Value)
	if match == nil {
		return ""
	}
	return match[1]
}

func typeName(expression ast.Expr) string {
	if selector, ok := expression.(*ast.SelectorExpr); ok {
		return selector.Sel.Name
	}
	return expression.(*ast.Ident).Name
}

// One field's word; empty where values of any type may stand, about which there is nothing to say.
func (g *generator) field(p *apiPackage, imports map[string]string, field *ast.Field) string {
	shape := g.shapeOf(p, imports, field.Type)
	if shape.form == anything {
		return ""
	}
	if strings.HasPrefix(shape.form, "?") {
		fail(fmt.Errorf("%s: no form is known for %s", p.name, shape.form[1:]))
	}
	json := strings.Split(tagOf(field, "json"), ",")
	name, options := json[0], json[1:]
	number := "0"
	for i, part := range strings.Split(tagOf(field, "protobuf"), ",") {
		if i == 1 {
			number = part
		}
		if strings.HasPrefix(part, "name=") && name == "" {
			name = "~" + strings.TrimPrefix(part, "name=")
		}
	}
	has := func(option string) bool {
		for _, one := range options {
			if one == option {
				return true
			}
		}
		return false
	}
	markers := markersOf(field.Doc.Text())
	if name == "" {
		name = "~" + typeName(field.Type)
	}
	inlined := strings.HasPrefix(name, "~")
	_, optional := markers["optional"]
	_, demanded := markers["required"]
	flags := ""
	for _, flag := range []struct {
		letter string
		set    bool
	}{
		{"p", shape.pointer}, {"r", shape.list}, {"m", shape.dictionary && !shape.lists}, {"L", shape.lists},
		{"i", inlined}, {"o", has("omitempty")}, {"z", has("omitzero")},
		{"q", !inlined && (demanded || !optional && !has("omitempty"))},
	} {
		if flag.set {
			flags += flag.letter
		}
	}
	text := name + ":" + number + ":" + shape.form + ":" + flags
	if noted := g.markers(p, shape, field, markers); noted != "" {
		text += ":" + noted
	}
	return text
}

func (g *generator) markers(p *apiPackage, shape shape, field *ast.Field, markers map[string][]string) string {
	var noted []string
	if kinds := markers["listType"]; len(kinds) > 0 {
		switch kinds[0] {
		case "atomic":
			noted = append(noted, "La")
		case "set":
			noted = append(noted, "Ls")
		case "map":
			noted = append(noted, "Lm="+strings.Join(markers["listMapKey"], ","))
		}
	}
	if kinds := append(markers["mapType"], markers["structType"]...); len(kinds) > 0 && kinds[0] == "atomic" {
		noted = append(noted, "Ma")
	}
	for _, strategy := range strings.Split(tagOf(field, "patchStrategy"), ",") {
		switch strategy {
		case "merge":
			if key := tagOf(field, "patchMergeKey"); key != "" {
				noted = append(noted, "Pm="+key)
			} else {
				noted = append(noted, "Pm")
			}
		case "retainKeys":
			noted = append(noted, "Pr")
		case "replace":
			noted = append(noted, "Px")
		}
	}
	if values := markers["default"]; len(values) > 0 {
		value := values[0]
		if reference := regexp.MustCompile(`^ref\((?:.*\.)?([A-Za-z0-9]+)\)$`).FindStringSubmatch(value); reference != nil {
			value = `"` + p.constants[reference[1]] + `"`
		}
		noted = append(noted, "D="+value)
	}
	return strings.Join(noted, "+")
}

func (g *generator) line(p *apiPackage, name string, declared *ast.StructType) string {
	object, fields := false, ""
	for _, field := range declared.Fields.List {
		json := tagOf(field, "json")
		if json == "-" {
			continue
		}
		if len(field.Names) == 0 && strings.HasPrefix(json, ",inline") {
			if shape := g.shapeOf(p, p.imports[name], field.Type); shape.form == "meta/v1.TypeMeta" {
				object = true
				continue
			}
		}
		if len(field.Names) > 0 && !field.Names[0].IsExported() {
			continue
		}
		if word := g.field(p, p.imports[name], field); word != "" {
			fields += " " + word
		}
	}
	head := "-"
	if object {
		head = "K"
	}
	if kinds := markersOf(p.docs[name])["structType"]; len(kinds) > 0 && kinds[0] == "atomic" {
		head += "A"
	}
	return p.name + "." + name + " " + head + fields
}

// What overrides.txt leaves out.
func overrides() map[string]bool {
	skipped := map[string]bool{}
	file, err := os.Open("types/overrides.txt")
	fail(err)
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "skip "); ok {
			skipped[name] = true
		}
	}
	return skipped
}

func main() {
	skipped := overrides()
	g := &generator{packages: packages(skipped), byPath: map[string]*apiPackage{}}
	for _, p := range g.packages {
		g.byPath[p.path] = p
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	version := strings.Split(strings.TrimPrefix(module("k8s.io/kubernetes", "{{.Version}}"), "v"), ".")
	fmt.Fprintf(out, header, version[0]+"."+version[1])
	for _, p := range g.packages {
		group := p.group
		if group == "" {
			group = "-"
		}
		fmt.Fprintf(out, "@%s %s %s\n", p.name, group, p.name[strings.Index(p.name, "/")+1:])
	}
	for _, p := range g.packages {
		var names []string
		for name, spec := range p.types {
			_, isStruct := spec.Type.(*ast.StructType)
			_, isForm := forms[p.path+"."+name]
			if isStruct && !isForm && ast.IsExported(name) && !skipped[p.name+"."+name] {
				names = append(names, name)
			}
		}
		sort.Strings(names)
		for _, name := range names {
			fmt.Fprintln(out, g.line(p, name, p.types[name].Type.(*ast.StructType)))
		}
	}
}
