// From the code of an execution to something that can be run: JavaScript when it is, TypeScript when not.
import vm from 'node:vm'
import { SyntaxProblem, addProgram } from './traces.mjs'
import { looksLikeTypes, parseProgram } from './parse.mjs'
import { rewrite } from './rewrite.mjs'
import { analyse } from './scope.mjs'
import { transpile } from './typescript.mjs'

const load = vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER // import() in eval() works where Node.js has this

/** The tree when it is JavaScript, or { problem } with acorn's error or without, when it seems to be TypeScript. */
function tryParse(source) {
  let tree
  try {
    tree = parseProgram(source)
  } catch (error) {
    if (error.loc === undefined) throw error
    return { problem: error }
  }
  return source.includes('>') && looksLikeTypes(source, tree) ? { tree, problem: null } : { tree }
}

const isBehind = (place, { line, column }) => place.line > line || (place.line === line && place.column > column + 1)

/** What V8 says about it is what people know; acorn's words when V8 finds nothing. */
function syntaxProblem(source, file, acorn) {
  let message = acorn.message.replace(/ \(\d+:\d+\)$/, '')
  try {
    new vm.Script(`(async () => {\n${source}\n})`, { __proto__: null, filename: file })
  } catch (error) {
    if (error instanceof SyntaxError) message = error.message
  }
  return new SyntaxProblem(message, source, file, { line: acorn.loc.line, column: acorn.loc.column + 1 })
}

async function parseTyped(source, file, { tree, problem }) {
  try {
    const { code, original } = await transpile(source)
    return { code, tree: parseProgram(code), original }
  } catch (error) {
    if (tree) return { code: source, tree }
    if (!error.place) throw problem ? Object.assign(syntaxProblem(source, file, problem), { cause: error }) : error
    // Whoever got further knows which language it is.
    if (problem && !isBehind(error.place, problem.loc)) throw syntaxProblem(source, file, problem)
    throw new SyntaxProblem(error.message, source, file, error.place)
  }
}

function compile({ code, tree, original }, source, file, names, hidden) {
  const found = analyse(tree)
  names.declare(found.declared)
  const output = rewrite(code, tree, found, names, hidden, original !== undefined)
  addProgram(file, (line, column) => {
    const place = output.original(line, column)
    return original ? original(place.line, place.column) : place
  })
  const script = new vm.Script(output.code, { __proto__: null, filename: file, importModuleDynamically: load })
  return script.runInThisContext({ __proto__: null, displayErrors: false })
}

/**
 * A function that runs the code: its value, in an array, or nothing, or a promise of either. A promise of it, when the
 * code is TypeScript.
 */
export function makeProgram(source, file, names, hidden) {
  const parsed = tryParse(source)
  if (!('problem' in parsed)) return compile({ code: source, tree: parsed.tree }, source, file, names, hidden)
  return parseTyped(source, file, parsed).then((typed) => compile(typed, source, file, names, hidden))
}
