// Every type of chart through the SDK, its values compared with what was plotted.
import { assert, test } from './harness.mjs'
import { LIMIT_MS, near, run, sharedSandbox } from './interpreter.mjs'

const shared = sharedSandbox()
const START = 'import datetime\nimport matplotlib.pyplot as plt\nimport numpy as np\nimport pandas as pd\n'

/** A test of the chart of one figure. */
function chart(name, code, check) {
  test(name, async () => {
    const { results } = await run(shared.sandbox, START + code + '\nplt.show()')
    assert.equal(results.length, 1)
    assert.ok(results[0].png, 'an image')
    await check(results[0].chart)
  }, LIMIT_MS)
}

const every = (c, key) => c.elements.map((e) => e[key])
const range = (n, fn) => Array.from({ length: n }, (_, i) => fn(i))

chart('lines with dates and units', `
dates = [datetime.date(2023, 9, 1) + datetime.timedelta(seconds=i) for i in range(100)]
x = np.linspace(0, 2 * np.pi, 100)
plt.figure(figsize=(10, 6))
plt.plot(dates, np.sin(x), label='sin(x)'); plt.plot(dates, np.cos(x), label='cos(x)')
plt.xlabel("Time (s)"); plt.ylabel("Amplitude (Hz)"); plt.title('Plot of sin(x) and cos(x)')`, (c) => {
  assert.deepEqual([c.type, c.title, c.x_label, c.y_label, c.x_unit, c.y_unit, c.x_scale, c.y_scale],
    ['line', 'Plot of sin(x) and cos(x)', 'Time (s)', 'Amplitude (Hz)', 's', 'Hz', 'datetime', 'linear'])
  assert.ok(c.x_ticks.every((t) => !Number.isNaN(Date.parse(t))) && c.y_ticks.every((t) => typeof t === 'number'))
  assert.ok([...c.x_tick_labels, ...c.y_tick_labels].every((t) => typeof t === 'string'))
  assert.deepEqual([c.x_ticks.length, c.y_ticks.length], [c.x_tick_labels.length, c.y_tick_labels.length])
  assert.deepEqual(every(c, 'label'), ['sin(x)', 'cos(x)'])
  assert.equal(Date.parse(c.elements[0].points[0][0]), Date.parse('2023-09-01T00:00:00Z'))
  for (const [i, fn] of [[0, Math.sin], [1, Math.cos]]) {
    near(c.elements[i].points.map((p) => p[1]), range(100, (k) => fn(2 * Math.PI * k / 99)))
  }
})

chart('a logarithmic axis', `
x = np.linspace(0, 100, 100)
plt.plot(x, np.exp(x), label='y = e^x'); plt.yscale('log'); plt.ylabel('Y-axis (log scale)'); plt.legend(); plt.grid(True)`, (c) => {
  assert.deepEqual([c.type, c.x_scale, c.y_scale, c.y_unit, c.title], ['line', 'linear', 'log', 'log scale', null])
  near(c.elements[0].points, range(100, (i) => [100 * i / 99, Math.exp(100 * i / 99)]))
  assert.ok(c.y_ticks.every((t) => Math.abs(Math.log10(t) - Math.round(Math.log10(t))) < 1e-9))
})

chart('categories', "plt.plot([1, 2, 3], ['A', 'B', 'A'])", (c) => {
  assert.deepEqual([c.x_scale, c.y_scale, c.y_tick_labels], ['linear', 'categorical', ['A', 'B']])
  assert.deepEqual(c.elements[0].points, [[1, 'A'], [2, 'B'], [3, 'A']])
})

chart('scattered points', `
plt.scatter([1, 2, 3], [.1, .2, .3], c='blue', label='first'); plt.scatter([4], [5], c='red', label='second')
plt.xlabel("A"); plt.ylabel("B")`, (c) => {
  assert.deepEqual([c.type, c.title, c.x_label, c.y_label, c.x_scale], ['scatter', null, 'A', 'B', 'linear'])
  assert.deepEqual([every(c, 'label'), every(c, 'points')], [['first', 'second'], [[[1, .1], [2, .2], [3, .3]], [[4, 5]]]])
})

chart('bars', `
plt.bar(['A', 'B', 'C'], [100, 200, 300], label='Books', color='blue')
plt.xlabel('Authors'); plt.ylabel('Number'); plt.title('Sales'); plt.tight_layout()`, (c) => {
  assert.deepEqual([c.type, c.title, c.x_label, c.y_label, c.x_unit, c.y_unit], ['bar', 'Sales', 'Authors', 'Number', null, null])
  assert.deepEqual(c.elements, [['A', 100], ['B', 200], ['C', 300]].map(([label, value]) => ({ label, group: 'Books', value })))
})

chart('lying bars, grouped', `
y = np.arange(2)
plt.barh(y - .2, [1, 2], height=.4, label='u'); plt.barh(y + .2, [3, 4], height=.4, label='v'); plt.yticks(y, ['p', 'q']); plt.xlabel('Size (m)')`, (c) => {
  assert.deepEqual([c.type, c.y_label, c.y_unit, c.x_label], ['bar', 'Size (m)', 'm', null])
  assert.deepEqual(c.elements.map((e) => [e.group, e.label, e.value]), [['u', 'p', 1], ['u', 'q', 2], ['v', 'p', 3], ['v', 'q', 4]])
})

chart('a pie', `
plt.pie([90, 10], labels=["No", "No, in blue"], autopct='%1.1f%%', startangle=90); plt.axis('equal'); plt.title('Early?')`, (c) => {
  assert.deepEqual(c, { type: 'pie', title: 'Early?', elements: [
    { label: 'No', angle: 324, radius: 1 }, { label: 'No, in blue', angle: 36, radius: 1 }] })
})

for (const [how, more] of [['with patches', ', patch_artist=True'], ['of lines', ''], ['lying', ', vert=False']]) {
  chart(`boxes ${how}`, `
data = {'Class A': [85, 90, 78, 92, 88], 'Class B': [95, 89, 76, 91, 84, 87], 'Class C': [75, 82, 88, 79, 86]}
plt.boxplot(data.values(), labels=data.keys()${more}); plt.title('Scores')`, (c) => {
    assert.deepEqual([c.type, c.title], ['box_and_whisker', 'Scores'])
    assert.deepEqual(['label', 'min', 'first_quartile', 'median', 'third_quartile', 'max', 'outliers'].map((k) => every(c, k)),
      [['Class A', 'Class B', 'Class C'], [78, 84, 75], [85, 84.75, 79], [88, 88, 82], [90, 90.5, 86], [92, 95, 88], [[], [76], []]])
  })
}

chart('several axes', `
fig, axs = plt.subplots(1, 2, figsize=(10, 8)); fig.suptitle('Multiple Charts Example', fontsize=16)
axs[0].plot([1, 2, 3], [1, 4, 9], 'r'); axs[0].set_title('Square'); axs[0].grid(True)
axs[1].scatter([1, 2], [3, 4], label='D'); axs[1].set_xlabel('X'); axs[1].set_title('Scatter Plot'); axs[1].grid(True)`, (c) => {
  assert.deepEqual([c.type, c.title, every(c, 'type'), every(c, 'title')],
    ['superchart', 'Multiple Charts Example', ['line', 'scatter'], ['Square', 'Scatter Plot']])
  assert.deepEqual([c.elements[0].x_label, c.elements[1].x_label], [null, 'X'])
  assert.deepEqual(c.elements.map((e) => e.elements[0].points), [[[1, 1], [2, 4], [3, 9]], [[1, 3], [2, 4]]])
})

chart('unknown', `
fig, ax = plt.subplots(); ax.add_artist(plt.Circle((0, 0), 1, fill=False)); ax.grid(True); plt.title('Circle')`, (c) => {
  assert.deepEqual(c, { type: 'unknown', title: 'Circle', elements: [] })
})

chart('numbers that JSON has not', 'plt.plot([1, 2, 3], [1.5, np.nan, np.inf])', (c) => {
  assert.deepEqual(c.elements[0].points, [[1, 1.5], [2, null], [3, null]])
})

chart('pandas', "pd.DataFrame({'a': [1, 2], 'b': [3, 4]}, index=['x', 'y']).plot.bar(stacked=True)", (c) => {
  assert.deepEqual(c.elements.map((e) => [e.group, e.label, e.value]), [['a', 'x', 1], ['a', 'y', 2], ['b', 'x', 3], ['b', 'y', 4]])
})

chart('too many points are left out, the image is there', 'plt.plot(np.random.rand(300_000)); plt.title("Many")', (c) => {
  assert.deepEqual(c, { type: 'unknown', title: 'Many', elements: [] })
})
