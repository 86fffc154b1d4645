# status: 0
# needs: /usr/lib/python3/dist-packages/numpy
# timeout: 120
export MPLCONFIGDIR=$PWD/mpl OPENBLAS_NUM_THREADS=2
## numpy
/usr/bin/python3 -c '
import numpy as np
a = np.arange(12.0).reshape(3, 4); print(a @ a.T, a.mean(0), np.linalg.det(np.eye(5) * 2)); np.random.seed(1); x = np.random.rand(300, 300); print(np.allclose(np.linalg.inv(x) @ x, np.eye(300)), round(float(np.linalg.svd(x)[1][0]), 6))
np.save("a.npy", a); print(np.load("a.npy", mmap_mode="r").sum()); m = np.memmap("m", dtype="i4", mode="w+", shape=1000); m[:] = 7; m.flush(); print(np.fromfile("m", "i4").sum(), np.fft.fft([1, 0, 0, 0]).real)'
## pandas
/usr/bin/python3 -W ignore -c '
import pandas as pd, numpy as np
d = pd.DataFrame({"k": list("abca"), "v": [1, 2, 3, 4.5], "t": pd.date_range("2020-01-01", periods=4)}); print(d, d.groupby("k").v.sum(), d.describe().loc["mean"]); d.to_csv("d.csv", index=False); print(open("d.csv").read()); e = pd.read_csv("d.csv", parse_dates=["t"]); print(e.dtypes, e.merge(d, on="k").shape, e.t.dt.day.tolist()); d.to_pickle("p"); print(pd.read_pickle("p").equals(d)); print(pd.DataFrame(np.arange(100000)).rolling(5).mean().iloc[-1]); d.to_json("j"); print(pd.read_json("j").shape)'
## matplotlib png
/usr/bin/python3 -W ignore -c '
import matplotlib; matplotlib.use("Agg"); import matplotlib.pyplot as p, numpy as np
f, a = p.subplots(2); a[0].plot(np.sin(np.linspace(0, 9, 100))); a[0].set_title("A title"); a[1].hist(np.arange(50) ** .5); f.savefig("o.png", dpi=80); f.savefig("o.pdf"); import matplotlib.image as i; print(i.imread("o.png").shape, open("o.png", "rb").read(4), int(i.imread("o.png").sum()))' 2>/dev/null; head -c 5 o.pdf
