// Programs as acorn sees them: scripts in which `import`, `export` and `await` are allowed at the top.
import { parse, parseExpressionAt } from 'acorn'

const OPTIONS = {
  __proto__: null,
  ecmaVersion: 'latest',
  sourceType: 'script',
  allowAwaitOutsideFunction: true,
  allowImportExportEverywhere: true,
  allowHashBang: true,
}
const BLANK = /^(\s|\/\/.*|\/\*[^]*?\*\/)*$/

/** `{ a: 1 }` alone is an object, not a block with a label. */
function parseObject(source) {
  if (!/^\s*\{/.test(source) || /;\s*$/.test(source)) return null
  try {
    const expression = parseExpressionAt(source, 0, OPTIONS)
    const { start, end } = expression
    if (!BLANK.test(source.slice(end))) return null
    return { type: 'Program', body: [{ type: 'ExpressionStatement', start, end, expression }] }
  } catch {
    return null
  }
}

/** Throws acorn's SyntaxError: pos, loc { line, column }, message. */
export function parseProgram(source) {
  return parseObject(source) ?? parse(source, OPTIONS)
}

const isJoined = (source, from, to) => from >= 0 && !/\s/.test(source.slice(from, to))

/** `<` and `>` as TypeScript's type arguments are written, without spaces: f<T>(x), which is a comparison, too. */
function isGeneric(source, less, greater) {
  if (less?.type !== 'BinaryExpression' || less.operator !== '<') return false
  if (greater.type !== 'BinaryExpression' || greater.operator !== '>') return false
  const close = source.lastIndexOf('>', greater.right.start)
  return isJoined(source, less.left.end, less.left.end + 2) && isJoined(source, close, close + 2) &&
    /[(`]/.test(source[close + 1])
}

/** True when a program that is JavaScript was hardly meant so. */
export function looksLikeTypes(source, node) {
  const lists = [node.arguments, node.expressions].filter(Array.isArray)
  if (isGeneric(source, node.left, node)) return true
  for (const list of lists)
    for (let i = 1; i < list.length; i++) if (isGeneric(source, list[i - 1], list[i])) return true
  for (const key of Object.keys(node)) {
    for (const child of [node[key]].flat())
      if (typeof child?.type === 'string' && looksLikeTypes(source, child)) return true
  }
  return false
}
