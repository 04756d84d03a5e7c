package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

// One package of API types: a group's version.
type apiPackage struct {
	name  string // "core/v1"
	group string // "" is the core group
	path  string // Go's import path
	dir   string

	types     map[string]*ast.TypeSpec
	docs      map[string]string            // comments of the types
	constants map[string]string            // of strings
	imports   map[string]map[string]string // by type: the file's names of packages
}

func module(path, format string) string {
	out, err := exec.Command("go", "list", "-m", "-f", format, path).Output()
	fail(err)
	return strings.TrimSpace(string(out))
}

var generalAvailability = regexp.MustCompile(`^v[0-9]+$`)

// The packages of stable versions.
func packages(skipped map[string]bool) []*apiPackage {
	var found []*apiPackage
	add := func(name, path, dir string) {
		if !skipped["@"+name] {
			found = append(found, &apiPackage{name: name, path: path, dir: dir})
		}
	}
	root := module("k8s.io/api", "{{.Dir}}")
	groups, err := os.ReadDir(root)
	fail(err)
	for _, group := range groups {
		versions, _ := os.ReadDir(filepath.Join(root, group.Name()))
		for _, version := range versions {
			if version.IsDir() && generalAvailability.MatchString(version.Name()) {
				name := group.Name() + "/" + version.Name()
				add(name, "k8s.io/api/"+name, filepath.Join(root, name))
			}
		}
	}
	add("apiextensions/v1", apiextensions, filepath.Join(module("k8s.io/apiextensions-apiserver", "{{.Dir}}"), "pkg/apis/apiextensions/v1"))
	add("apiregistration/v1", "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1",
		filepath.Join(module("k8s.io/kube-aggregator", "{{.Dir}}"), "pkg/apis/apiregistration/v1"))
	add("meta/v1", meta, filepath.Join(module("k8s.io/apimachinery", "{{.Dir}}"), "pkg/apis/meta/v1"))
	sort.Slice(found, func(i, j int) bool { return found[i].name < found[j].name })
	for _, one := range found {
		one.read()
	}
	return found
}

func (p *apiPackage) read() {
	p.types, p.docs = map[string]*ast.TypeSpec{}, map[string]string{}
	p.constants, p.imports = map[string]string{}, map[string]map[string]string{}
	files, err := parser.ParseDir(token.NewFileSet(), p.dir, func(info fs.FileInfo) bool {
		name := info.Name()
		return !strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(name, "zz_") && !strings.HasSuffix(name, ".pb.go")
	}, parser.ParseComments)
	fail(err)
	for _, parsed := range files {
		for _, file := range parsed.Files {
			imports := map[string]string{}
			for _, spec := range file.Imports {
				path := strings.Trim(spec.Path.Value, `"`)
				name := path[strings.LastIndex(path, "/")+1:]
				if spec.Name != nil {
					name = spec.Name.Name
				}
				imports[name] = path
			}
			for _, decl := range file.Decls {
				if general, ok := decl.(*ast.GenDecl); ok {
					p.declare(general, imports)
				}
			}
		}
	}
	p.group = p.constants["GroupName"]
}

func (p *apiPackage) declare(decl *ast.GenDecl, imports map[string]string) {
	for _, spec := range decl.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			p.types[spec.Name.Name] = spec
			p.imports[spec.Name.Name] = imports
			p.docs[spec.Name.Name] = decl.Doc.Text() + spec.Doc.Text()
		case *ast.ValueSpec:
			for i, name := range spec.Names {
				if i < len(spec.Values) {
					if literal, ok := spec.Values[i].(*ast.BasicLit); ok && literal.Kind == token.STRING {
						p.constants[name.Name] = strings.Trim(literal.Value, `"`)
					}
				}
			}
		}
	}
}
