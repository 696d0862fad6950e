// Package dashboard reads a dashboard of Grafana and draws it as an SVG, from what Prometheus answers to its queries. It knows
// the panels, units and colours that deploy/monitoring/dashboards use, and Parse refuses others. It is pure: values to text.
package dashboard

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Dashboard is what is used of a dashboard.
type Dashboard struct {
	UID         string  `json:"uid"`
	Title       string  `json:"title"`
	Description string  `json:"description"`
	Panels      []Panel `json:"panels"`
}

// Panel is a panel of a dashboard.
type Panel struct {
	ID          int      `json:"id"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Type        string   `json:"type"`
	GridPos     Grid     `json:"gridPos"`
	Targets     []Target `json:"targets"`
	FieldConfig struct {
		Defaults  Field             `json:"defaults"`
		Overrides []json.RawMessage `json:"overrides"`
	} `json:"fieldConfig"`
	// Panels are those of a row that is collapsed.
	Panels  []json.RawMessage `json:"panels"`
	Options Options           `json:"options"`
}

// Options say how a panel is drawn.
type Options struct {
	TextMode  string `json:"textMode"`
	GraphMode string `json:"graphMode"`
	Reduce    struct {
		Calcs []string `json:"calcs"`
	} `json:"reduceOptions"`
	Legend struct {
		Calcs []string `json:"calcs"`
	} `json:"legend"`
}

// Target is a query of a panel.
type Target struct {
	Expr         string `json:"expr"`
	LegendFormat string `json:"legendFormat"`
}

// Grid is a place on the grid of a dashboard, which has 24 columns.
type Grid struct {
	X int `json:"x"`
	Y int `json:"y"`
	W int `json:"w"`
	H int `json:"h"`
}

// Field says how the values of a panel are shown.
type Field struct {
	Unit       string   `json:"unit"`
	Min        *float64 `json:"min"`
	Color      Color    `json:"color"`
	Thresholds struct {
		Mode  string `json:"mode"`
		Steps []Step `json:"steps"`
	} `json:"thresholds"`
}

// Color is the colour of a stat: by its thresholds, or a fixed one.
type Color struct {
	Mode       string `json:"mode"`
	FixedColor string `json:"fixedColor"`
}

// Step is a threshold: the colour of values from Value on. The first has none.
type Step struct {
	Value *float64 `json:"value"`
	Color string   `json:"color"`
}

// The types of panels.
const (
	row        = "row"
	stat       = "stat"
	timeseries = "timeseries"
)

// Parse reads a dashboard. It fails if the dashboard has something that SVG cannot draw.
func Parse(text []byte) (Dashboard, error) {
	var d Dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		return Dashboard{}, fmt.Errorf("read the dashboard: %w", err)
	}
	var errs []error
	ids := map[int]bool{}
	for _, p := range d.Panels {
		if err := p.check(); err != nil {
			errs = append(errs, fmt.Errorf("panel %q: %w", p.Title, err))
		}
		if ids[p.ID] {
			errs = append(errs, fmt.Errorf("panel %q: another one has its id %d", p.Title, p.ID))
		}
		ids[p.ID] = true
	}
	if err := errors.Join(errs...); err != nil {
		return Dashboard{}, fmt.Errorf("dashboard %q: %w", d.Title, err)
	}
	return d, nil
}

func (p Panel) check() error {
	var errs []error
	if p.GridPos.W <= 0 || p.GridPos.H <= 0 || p.GridPos.X < 0 || p.GridPos.Y < 0 || p.GridPos.X+p.GridPos.W > columns {
		errs = append(errs, fmt.Errorf("the place %+v is not on the grid", p.GridPos))
	}
	switch p.Type {
	case row, stat, timeseries:
	default:
		errs = append(errs, fmt.Errorf("no panel of the type %q can be drawn", p.Type))
	}
	if len(p.Panels) > 0 {
		errs = append(errs, errors.New("the panels of a collapsed row cannot be drawn"))
	}
	if len(p.FieldConfig.Overrides) > 0 {
		errs = append(errs, errors.New("overrides of fields are not known"))
	}
	return errors.Join(append(errs, p.Options.check(), p.FieldConfig.Defaults.check())...)
}

func (o Options) check() error {
	var errs []error
	for _, calc := range slices.Concat(o.Reduce.Calcs, o.Legend.Calcs) {
		if calc != "lastNotNull" {
			errs = append(errs, fmt.Errorf("the calculation %q is not known", calc))
		}
	}
	switch o.TextMode {
	case "", "auto", "value", "name", "value_and_name":
	default:
		errs = append(errs, fmt.Errorf("the text mode %q is not known", o.TextMode))
	}
	switch o.GraphMode {
	case "", "area", "none":
	default:
		errs = append(errs, fmt.Errorf("the graph mode %q is not known", o.GraphMode))
	}
	return errors.Join(errs...)
}

func (f Field) check() error {
	var errs []error
	if _, known := units[f.Unit]; !known {
		errs = append(errs, fmt.Errorf("the unit %q is not known", f.Unit))
	}
	switch f.Color.Mode {
	case "", "thresholds":
	case "fixed":
		errs = append(errs, checkColor(f.Color.FixedColor))
	default:
		errs = append(errs, fmt.Errorf("the colour mode %q is not known", f.Color.Mode))
	}
	if mode := f.Thresholds.Mode; mode != "" && mode != "absolute" {
		errs = append(errs, fmt.Errorf("the mode of thresholds %q is not known", mode))
	}
	for i, step := range f.Thresholds.Steps {
		errs = append(errs, checkColor(step.Color))
		if i > 0 && step.Value == nil {
			errs = append(errs, fmt.Errorf("threshold %d has no value", i))
		}
	}
	return errors.Join(errs...)
}

func checkColor(name string) error {
	for _, known := range named {
		if known.name == name {
			return nil
		}
	}
	return fmt.Errorf("the colour %q is not known", name)
}

// color returns the name of the colour that a stat has for a value. Where the dashboard has no thresholds, Grafana's defaults apply:
// https://github.com/grafana/grafana/blob/6403b8b50ec2ac9ae64e86ad8b3990703088e659/public/app/core/components/OptionsUI/registry.tsx
func (f Field) color(value float64) string {
	if f.Color.Mode == "fixed" {
		return f.Color.FixedColor
	}
	steps := f.Thresholds.Steps
	if len(steps) == 0 {
		eighty := 80.0
		steps = []Step{{nil, "green"}, {&eighty, "red"}}
	}
	name := steps[0].Color
	for _, step := range steps[1:] {
		if value >= *step.Value {
			name = step.Color
		}
	}
	return name
}
