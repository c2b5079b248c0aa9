package vec

import (
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/isa/isatest"
	"quern/kernels/internal/kerneltest"
)

func TestExp(t *testing.T) {
	worst := 0.0
	for i := range 4_000_000 {
		x := float32(i)/4_000_000*175 - 87
		want := math.Exp(float64(x))
		if want > math.MaxFloat32 {
			continue
		}
		worst = max(worst, math.Abs(float64(ExpScalar(x))-want)/want)
	}
	if worst > 2*0x1p-23 {
		t.Errorf("exp is off by %g, want at most %g", worst, 2*0x1p-23)
	}
	inf := float32(math.Inf(1))
	for _, tt := range []struct{ x, want float32 }{{-inf, 0}, {-100, 0}, {0, 1}, {100, inf}, {inf, inf}} {
		if got := ExpScalar(tt.x); got != tt.want {
			t.Errorf("exp(%g) = %g, want %g", tt.x, got, tt.want)
		}
	}
	if got := ExpScalar(float32(math.NaN())); got == got {
		t.Errorf("exp(NaN) = %g", got)
	}
}

func TestExpSum(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 7))
		for _, n := range []int{0, 1, 7, 8, 9, 15, 16, 17, 33, 200} {
			x := kerneltest.Floats(r, n)
			for i := range x {
				x[i] *= 20
			}
			y := append([]float32(nil), x...)
			var want float64
			got := ExpSum(y, 3)
			for i := range x {
				e := math.Exp(float64(x[i] - 3))
				want += e
				kerneltest.Within(t, y[i], e, e*2*0x1p-23+1e-37, "n=%d exp(%g)", n, x[i]-3)
			}
			kerneltest.Within(t, got, want, want*float64(n+3)*0x1p-23, "sum of %d", n)
		}
		// An infinite or NaN score must show in the result.
		x := make([]float32, 32)
		x[5] = float32(math.NaN())
		if sum := ExpSum(x, 0); sum == sum || x[5] == x[5] {
			t.Errorf("exp(NaN) = %g, sum %g", x[5], sum)
		}
		inf := float32(math.Inf(-1))
		for i := range x {
			x[i] = inf
		}
		if sum := ExpSum(x, 0); sum > 1e-30 {
			t.Errorf("sum of exp(-Inf) = %g", sum)
		}
	})
}

func TestSiLUGate(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 1))
		g, u := kerneltest.Floats(r, 1003), kerneltest.Floats(r, 1003)
		copy(g, []float32{80, -80, -1000, 1000, 0})
		dst := make([]float32, len(g))
		SiLUGate(dst, g, u)
		for i := range g {
			want := float64(g[i]) / (1 + math.Exp(-float64(g[i]))) * float64(u[i])
			kerneltest.Within(t, dst[i], want, math.Abs(want)*8*0x1p-23+1e-33, "silu(%g)·%g", g[i], u[i])
		}
		SiLUGate(g, g, u)
		for i := range g {
			if g[i] != dst[i] {
				t.Fatalf("in place: [%d] = %g, want %g", i, g[i], dst[i])
			}
		}
	})
}

func TestActivations(t *testing.T) {
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	gelu := func(x, u float64) float64 { return x * math.Erfc(-x/math.Sqrt2) / 2 * u }
	tanh := func(x, u float64) float64 {
		return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))) * u
	}
	clamped := func(g, u float64) float64 {
		g, u = min(g, 7), max(-7, min(u, 7))
		return g * sigmoid(1.702*g) * (u + 1)
	}
	isatest.Each(t, func(t *testing.T) {
		for _, tt := range []struct {
			name  string
			f     func(dst, x, up []float32)
			want  func(x, u float64) float64
			alone bool
		}{{"GELU", GELU, gelu, true}, {"GELUTanh", GELUTanh, tanh, true}, {"SwiGLUClamped", SwiGLUClamped, clamped, false}} {
			for _, n := range []int{0, 1, 7, 16, 17, span - 1, span, span + 1, 1000} {
				r := rand.New(rand.NewPCG(3, 2))
				x, up := kerneltest.Floats(r, n), kerneltest.Floats(r, n)
				copy(x, []float32{0, 30, -30, 1000, -1000, -3, 5})
				copy(up[n/2:], []float32{9, -9})
				for _, u := range [][]float32{up, nil} {
					if u == nil && !tt.alone {
						continue
					}
					dst := append(make([]float32, n), 7)
					tt.f(dst[:n], x, u)
					for i := range x {
						f := 1.0
						if u != nil {
							f = float64(u[i])
						}
						want := tt.want(float64(x[i]), f)
						kerneltest.Within(t, dst[i], want, 1e-6*(math.Abs(want)+math.Abs(f)*min(math.Abs(float64(x[i])), 8)+1e-3), "%s n=%d (%g, %g)", tt.name, n, x[i], f)
					}
					if dst[n] != 7 {
						t.Fatalf("%s wrote past the result", tt.name)
					}
				}
				want := make([]float32, n)
				tt.f(want, x, up)
				tt.f(x, x, up)
				for i := range x {
					if x[i] != want[i] {
						t.Fatalf("%s in place: [%d] = %g, want %g", tt.name, i, x[i], want[i])
					}
				}
			}
		}
	})
}

func TestSoftCap(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 15, 16, 17, span + 1, 999} {
			x := kerneltest.Floats(rand.New(rand.NewPCG(3, 3)), n)
			for i := range x {
				x[i] *= 40
			}
			copy(x, []float32{0, 1e-3, 1e6, -1e6})
			dst := append(make([]float32, n), 7)
			SoftCap(dst[:n], x, 30)
			for i := range x {
				kerneltest.Within(t, dst[i], 30*math.Tanh(float64(x[i])/30), 30*4*0x1p-23, "cap(%g)", x[i])
			}
			if dst[n] != 7 {
				t.Fatal("wrote past the result")
			}
		}
	})
}

func TestPointwise(t *testing.T) {
	x := []float32{1, 2, 3, -4, 5, 6}
	dst := make([]float32, 6)
	for _, tt := range []struct {
		name string
		f    func()
		want []float32
	}{
		{"bias", func() { Bias(dst, x, []float32{10, 20, 30}) }, []float32{11, 22, 33, 6, 25, 36}},
		{"scale", func() { Scale(dst, x, -2) }, []float32{-2, -4, -6, 8, -10, -12}},
		{"affine", func() { Affine(dst, x, 2, 1, -3) }, []float32{3, 5, 7, -3, 11, 13}},
		{"weigh", func() { Weigh(dst, x, []float32{0, 200}) }, []float32{0.5, 1, 1.5, -4, 5, 6}},
	} {
		tt.f()
		for i := range tt.want {
			if dst[i] != tt.want[i] {
				t.Errorf("%s = %v, want %v", tt.name, dst, tt.want)
				break
			}
		}
	}
}

func TestGateWithUp(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 1))
		const n = mostPoints + 67
		for name, f := range map[string]func(dst, x, up []float32){"gelu": GELU, "gelu tanh": GELUTanh} {
			x, up := kerneltest.Floats(r, n), kerneltest.Floats(r, n)
			alone, dst := make([]float32, n), make([]float32, n)
			f(alone, x, nil)
			f(dst, x, up)
			for i, v := range alone {
				if want := v * up[i]; dst[i] != want {
					t.Errorf("%s: [%d] = %g, want %g", name, i, dst[i], want)
				}
			}
			f(up, x, up)
			for i, v := range up {
				if v != dst[i] {
					t.Errorf("%s in place of up: [%d] = %g, want %g", name, i, v, dst[i])
				}
			}
		}
	})
}

// What few models have is no further off than float64's rounding to float32 allows.
func TestOfFewModels(t *testing.T) {
	const positive, negative, beta, epsilon = 0.8, 1.3, 0.5, -1e-6
	isatest.Each(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 17, span, span + 1, 300} {
			x := kerneltest.Floats(rand.New(rand.NewPCG(4, 2)), n)
			copy(x, []float32{0, 30, -30, 1e-7, -1e-7, -1e-3, 2, -2, float32(math.Inf(1))})
			clamped, curved := append(make([]float32, n), 7), append(make([]float32, n), 7)
			Clamp(clamped[:n], x, 1.5)
			XIELU(curved[:n], x, positive, negative, beta, epsilon)
			for i, v := range x {
				f := float64(v)
				if want := float32(max(-1.5, min(f, 1.5))); clamped[i] != want {
					t.Fatalf("Clamp of %g is %g, want %g", v, clamped[i], want)
				}
				want := negative*(math.Expm1(min(f, epsilon))-f) + beta*f
				if f > 0 {
					want = positive*f*f + beta*f
				}
				if math.IsInf(want, 1) && math.IsInf(float64(curved[i]), 1) {
					continue
				}
				kerneltest.Within(t, curved[i], want, 1e-6*math.Abs(want)+4e-7, "XIELU of %g", v)
			}
			if clamped[n] != 7 || curved[n] != 7 {
				t.Fatal("wrote past the result")
			}
		}
	})
}

// Affine is no further off than rounding allows, and loses nothing that is no number.
func TestAffine(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		inf := float32(math.Inf(1))
		for _, n := range []int{0, 1, 15, 16, 17, 300, mostPoints + 67} {
			x := kerneltest.Floats(rand.New(rand.NewPCG(5, 2)), n)
			copy(x, []float32{inf, -inf, float32(math.NaN()), -float32(math.NaN())})
			dst := append(make([]float32, n), 7)
			for _, floor := range []float32{0, -inf} {
				Affine(dst[:n], x, 1.5, -0.25, floor)
				for i, v := range x {
					want := max(float64(v)*1.5-0.25, float64(floor))
					if got := float64(dst[i]); got != want && !(math.Abs(got-want) <= 1e-6*(1+math.Abs(want))) && !(math.IsNaN(got) && math.IsNaN(want)) {
						t.Fatalf("of %g with a floor of %g: %g, want %g", v, floor, got, want)
					}
				}
				if dst[n] != 7 {
					t.Fatal("wrote past the result")
				}
			}
			Affine(x, x, 1.5, -0.25, -inf)
			for i := range x {
				if x[i] != dst[i] && x[i] == x[i] {
					t.Fatalf("[%d] in place is %g, want %g", i, x[i], dst[i])
				}
			}
		}
	})
}
