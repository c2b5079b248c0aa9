# Makes resize.json with the reference implementation of onnx (op_resize.py at
# f75469120, 1.23.0 in development) and numpy 1.24.2.
import json

import numpy as np
from onnx.reference.ops.op_resize import Resize

cases = []


def case(coordinates, mode, policy, x, scales=None, sizes=None):
    roi = [0.1, 0.8] if x.ndim == 1 else [0.1, 0, 0.8, 1]
    y = Resize._run(
        None, x, np.array(roi) if coordinates == "tf_crop_and_resize" else None,
        scales=None if scales is None else np.array(scales, np.float32).astype(np.float64), sizes=sizes,
        coordinate_transformation_mode=coordinates, cubic_coeff_a=-0.75, exclude_outside=False,
        extrapolation_value=9.0, keep_aspect_ratio_policy=policy or "stretch", mode=mode, nearest_mode="round_prefer_floor")[0]
    cases.append({
        "coordinates": coordinates, "mode": mode, "policy": policy, "shape": list(x.shape), "scales": scales, "sizes": sizes,
        "x": [float(v) for v in x.ravel()], "want": [round(float(v), 5) for v in y.ravel()], "want_shape": list(y.shape)})


for coordinates in ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"]:
    for mode in ["linear", "cubic", "nearest"]:
        for n in [1, 2, 4, 7]:
            for scale in [0.26, 0.5, 0.6, 1.0, 1.3, 2.75]:
                # Position 1 + 2e-16 of 7 halved is rounded to 1 half-way through there.
                rounded = (coordinates, n, scale) == ("half_pixel_symmetric", 7, 0.5)
                if int(float(np.float32(scale)) * n) > 0 and not rounded:
                    case(coordinates, mode, "", np.array([i * i % 5 + i / 2 for i in range(n)]), scales=[scale])
    for policy in ["not_larger", "not_smaller"]:
        for sizes in [[3, 5], [2, 4], [7, 3]]:
            case(coordinates, "linear", policy, np.arange(20.0).reshape(4, 5) % 7, sizes=sizes)

with open("resize.json", "w") as f:
    f.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")
