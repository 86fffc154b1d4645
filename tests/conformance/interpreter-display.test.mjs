// Every type of result that the code interpreter displays.
import { assert, test } from './harness.mjs'
import { LIMIT_MS, run, sharedSandbox, stdout } from './interpreter.mjs'

const shared = sharedSandbox()
const it = (name, fn) => test(name, () => fn(shared.sandbox), LIMIT_MS)
const one = async (sandbox, code) => {
  const { results } = await run(sandbox, code)
  assert.equal(results.length, 1, code)
  return results[0]
}
const magic = (base64, bytes = 4) => Buffer.from(base64, 'base64').subarray(0, bytes).toString('latin1')

it('text forms', async (sandbox) => {
  for (const [type, field, text] of [['HTML', 'html', '<b>ü</b>'], ['Markdown', 'markdown', '# head'], ['Latex', 'latex', '$x^2$'],
    ['Javascript', 'javascript', 'alert(1)'], ['SVG', 'svg', '<svg xmlns="http://www.w3.org/2000/svg"/>']]) {
    const result = await one(sandbox, `from IPython.display import ${type}\n${type}(${JSON.stringify(text)})`)
    assert.equal(result[field].trim(), text, type)
    assert.ok(result.formats().includes(field), type)
    assert.equal(result.isMainResult, true)
  }
})

it('JSON', async (sandbox) => {
  assert.deepEqual((await one(sandbox, '{"a": [1, 2.5, None, True, "ü"], 3: {}}')).json, { a: [1, 2.5, null, true, 'ü'], 3: {} })
  assert.deepEqual((await one(sandbox, '[1, float("nan"), (2, 3)]')).json, [1, null, [2, 3]])
  assert.deepEqual((await one(sandbox, 'from IPython.display import JSON\nJSON({"k": 1})')).json, { k: 1 })
  assert.equal((await one(sandbox, '[object()]')).json, undefined)
  assert.equal((await one(sandbox, '1')).json, undefined)
})

it('images: PNG, JPEG, PDF', async (sandbox) => {
  const code = (save) => `
import io
from PIL import Image as P
from IPython.display import Image, display
out = io.BytesIO(); P.new("RGB", (8, 8), "red").save(out, ${save}); Image(data=out.getvalue())`
  assert.equal(magic((await one(sandbox, code('"png"'))).png), '\x89PNG')
  assert.equal(magic((await one(sandbox, code('"jpeg"'))).jpeg, 2), '\xff\xd8')
  const pdf = await one(sandbox, 'class D:\n  def _repr_pdf_(self): return b"%PDF-1.4 x"\nD()')
  assert.equal(magic(pdf.pdf), '%PDF')
})

it('Pillow images: as value, shown, saved', async (sandbox) => {
  const start = 'from PIL import Image\nimage = Image.new("RGBA", (4, 4), "blue")\n'
  for (const end of ['image', 'image.show()', 'image.save("/tmp/test.png")', 'display(image)']) {
    const { results } = await run(sandbox, start + end)
    assert.equal(magic(results[0].png), '\x89PNG', end)
  }
  assert.equal(Buffer.from(await sandbox.files.read('/tmp/test.png', { format: 'bytes' })).subarray(1, 4).toString(), 'PNG')
})

it('figures come as images with their charts, in order, before the value', async (sandbox) => {
  const { results } = await run(sandbox, `
import matplotlib.pyplot as plt
plt.plot([1, 2, 4]); plt.show()
plt.bar(["a"], [1]); plt.show()
"value"`)
  assert.deepEqual(results.map((r) => r.chart?.type), ['line', 'bar', undefined])
  assert.deepEqual(results.map((r) => Boolean(r.isMainResult)), [false, false, true])
  assert.ok(results.slice(0, 2).every((r) => magic(r.png) === '\x89PNG' && r.text.startsWith('<Figure') && !Object.keys(r.extra).length))
  const { results: unshown } = await run(sandbox, 'fig, ax = plt.subplots(); _ = ax.scatter([1], [2])')
  assert.deepEqual(unshown.map((r) => r.chart.type), ['scatter'])
})

it('data frames: table, text and columns', async (sandbox) => {
  const result = await one(sandbox, `
import pandas as pd, numpy as np
pd.DataFrame({"a": [1, 2], "f": [0.5, np.nan], "s": ["x", None], "t": pd.to_datetime(["2023-01-01", None]), "c": pd.Categorical(["p", "q"])})`)
  assert.match(result.html, /<table/)
  assert.match(result.text, /2023-01-01/)
  assert.deepEqual(result.data, { a: [1, 2], f: [0.5, null], s: ['x', null], t: ['2023-01-01T00:00:00', null], c: ['p', 'q'] })
  assert.equal((await one(sandbox, 'pd.Series([1, 2])')).data, undefined)
})

it('types of one own go to extra', async (sandbox) => {
  const result = await one(sandbox, `
class Own:
  def __repr__(self): return "own"
  def _repr_mimebundle_(self, include=None, exclude=None):
    return {"text/plain": "own", "text/x-mine": "text", "application/x-mine+json": {"k": [1]}}
Own()`)
  assert.equal(result.text, 'own')
  const extra = result.extra.extra ?? result.raw.extra ?? result.extra
  assert.deepEqual([extra['text/x-mine'], extra['application/x-mine+json']], ['text', { k: [1] }])
})

it('objects that show themselves in several ways, or fail to', async (sandbox) => {
  const result = await one(sandbox, 'class R:\n  def _repr_html_(self): return "<i>r</i>"\n  def _repr_latex_(self): return "$r$"\n  def __repr__(self): return "r"\nR()')
  assert.deepEqual([result.html, result.latex, result.text], ['<i>r</i>', '$r$', 'r'])
  const done = await sandbox.runCode('class F:\n  def __repr__(self): raise ValueError("no repr")\nF()')
  assert.match(JSON.stringify([done.error ?? {}, done.logs]), /no repr/)
  assert.equal((await run(sandbox, '"alive"')).text, 'alive')
})

it('display() many times, with prints between', async (sandbox) => {
  const done = await run(sandbox, 'for i in range(3):\n  print("p", i)\n  display(i)')
  assert.deepEqual(done.results.map((r) => [r.text, Boolean(r.isMainResult)]), [['0', false], ['1', false], ['2', false]])
  assert.equal(stdout(done), 'p 0\np 1\np 2\n')
  assert.equal(done.text, undefined)
})

it('large results arrive whole', async (sandbox) => {
  assert.equal((await one(sandbox, '"y" * 3_000_000')).text.length, 3_000_000)
  const result = await one(sandbox, 'list(range(200_000))')
  assert.deepEqual([result.json.length, result.json.at(-1)], [200_000, 199_999])
  const large = await one(sandbox, 'pd.DataFrame({"i": range(2_000_000)})')
  assert.deepEqual([large.data, typeof large.html], [undefined, 'string'])
})

it('results of JavaScript', async (sandbox) => {
  const { results } = await run(sandbox, '({ a: [1, "x"] })', { language: 'js' })
  assert.match(results[0].text, /a:.*1.*x/)
})
