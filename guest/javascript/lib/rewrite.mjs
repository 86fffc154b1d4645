// A program of an execution made into a function expression that can be run as a script.
//
//     declarations      assignments to names of the global scope (names.mjs); functions come first
//     import, export    waits for import(), then assignments
//     await             ends with an error when the execution has been interrupted meanwhile
//     the last value    is returned, in an array
//
// It is a function expression because scripts cannot await, an arrow function because `this` and `arguments` are to
// mean what they mean in a script.
import { Edits } from './edits.mjs'

const text = JSON.stringify
const isDefaultValue = (node) => node?.type === 'ExportDefaultDeclaration' && !node.declaration.id

function importedName({ type, imported }) {
  if (type === 'ImportSpecifier') return imported.name ?? imported.value
  return type === 'ImportDefaultSpecifier' ? 'default' : '*'
}

class Rewriter {
  #edits
  #imports = [] // texts
  #functions = [] // parts: they are assigned before anything else
  #moved = [] // nodes that stand among them

  constructor(source, tree, found, names, hidden, isTyped) {
    this.#edits = new Edits(source)
    Object.assign(this, { source, tree, found, names, hidden, isTyped })
  }

  rewrite() {
    const { tree, found, source, hidden } = this
    const edits = this.#edits
    if (source.startsWith('#!')) edits.replace(0, 2, '//')
    this.#returnLast()
    for (const node of tree.body) this.#topLevel(node)
    for (const { node, head } of found.declarations) this.#declaration(node, head)
    for (const node of found.awaits) this.#await(node)
    for (const node of found.loops) this.#loop(node)
    for (const node of found.imports) edits.replace(node.start, node.start + 'import'.length, `${hidden}.import`)
    for (const node of found.metas) edits.replace(node.start, node.end, `${hidden}.meta`)
    for (const reference of found.references) this.#reference(reference)
    const isStrict = tree.body.some((node) => node.directive === 'use strict') && tree.body.length > 1
    return edits.apply([
      `(${found.isAsync ? 'async ' : ''}() => {${isStrict ? '"use strict";' : ''}${this.#imports.join('')}`,
      ...this.#functions,
      '\n',
      ...this.#rest(),
      '\n})',
    ])
  }

  /** The source without the functions. */
  #rest() {
    const parts = []
    let at = 0
    for (const { start, end } of this.#moved) {
      parts.push({ from: at, to: start }, ';')
      at = end
    }
    return [...parts, { from: at, to: this.source.length }]
  }

  // ---- statements

  #returnLast() {
    const { body } = this.tree
    const last = body.findLast(({ type }) => type !== 'EmptyStatement' && type !== 'FunctionDeclaration')
    let { start, end } = last ?? {}
    if (isDefaultValue(last)) start = last.declaration.start
    else if (last?.type !== 'ExpressionStatement') return
    this.last = last
    if (this.source[end - 1] === ';') end--
    this.#edits.open(start, 'return [(')
    this.#edits.close(end, ')];')
  }

  #topLevel(node) {
    const edits = this.#edits
    const { declaration, source, type } = node
    if (type === 'ImportDeclaration') {
      this.#import(node)
    } else if (type === 'FunctionDeclaration') {
      this.#function(node, node)
    } else if (type === 'ClassDeclaration') {
      this.#class(node)
    } else if (/^Export/.test(type)) {
      if (source) this.#imports.push(`await ${this.hidden}.import(${text(source.value)});`)
      if (!declaration) return edits.replace(node.start, node.end, ';')
      if (declaration.type === 'FunctionDeclaration' && declaration.id) return this.#function(declaration, node)
      edits.replace(node.start, declaration.start, isDefaultValue(node) && node !== this.last ? ' void ' : ' ')
      if (declaration.type === 'ClassDeclaration' && declaration.id) this.#class(declaration)
    }
  }

  #function(node, whole) {
    const { id, body, start } = node
    const edits = this.#edits
    // Without a name of its own: inside of itself the name must mean the variable.
    edits.replace(id.start, id.end, '')
    this.#functions.push(`${this.#write(id.name)} = {${text(id.name)}: `, { from: start, to: body.end },
      `}[${text(id.name)}];`)
    this.#moved.push(whole)
  }

  #class(node) {
    this.#edits.open(node.start, `${this.#write(node.id.name)} = `)
    this.#edits.close(node.end, ';')
  }

  #declaration(node, head) {
    const edits = this.#edits
    const { kind, declarations, start, end } = node
    const isPattern = declarations[0].id.type !== 'Identifier'
    edits.replace(start, start + kind.length, isPattern && !head ? 'void (' : ' ')
    if (head) return
    if (this.source[end - 1] !== ';') edits.close(end, ';')
    if (isPattern) edits.close(declarations.at(-1).end, ')')
    if (kind === 'let') for (const { id, init } of declarations) if (!init) edits.close(id.end, ' = void 0')
  }

  #import(node) {
    const { hidden } = this
    const attributes = node.attributes?.map(({ key, value }) => `${text(key.name ?? key.value)}: ${text(value.value)}`)
    const options = attributes?.length ? `, { with: { ${attributes.join()} } }` : ''
    const module = `await ${hidden}.import(${text(node.source.value)}${options})`
    const wanted = node.specifiers.map(importedName)
    const targets = node.specifiers.map(({ local }) => this.#write(local.name))
    const picked = `${hidden}.pick(${module}, ${text(wanted)}, ${text(node.source.value)}, ${this.isTyped})`
    this.#imports.push(targets.length ? `[${targets.join()}] = ${picked};` : `${module};`)
    this.#edits.replace(node.start, node.end, ';')
  }

  // ---- expressions

  #await(node) {
    this.#edits.open(node.start, `${this.hidden}.resume(${this.hidden}.mark(), `)
    this.#edits.close(node.end, ')')
  }

  #loop(node) {
    this.#edits.open(node.right.start, `${this.hidden}.each(${this.hidden}.mark(), `)
    this.#edits.close(node.right.end, ')')
  }

  #reference({ node, name, shorthand, assigned, update }) {
    const edits = this.#edits
    if (assigned && this.names.isConstant(name)) {
      edits.open(assigned.start, `${this.hidden}.constant(`)
      edits.close(assigned.end, ')')
    } else if (update && this.names.isConstant(name)) {
      return edits.replace(update.start, update.end, `${this.hidden}.constant()`)
    }
    const written = this.names.written(name)
    if (!written) return
    if (shorthand) edits.close(node.end, `: ${written}`)
    else edits.replace(node.start, node.end, written)
  }

  #write(name) {
    return this.names.written(name) ?? name
  }
}

/**
 * (source, tree, found, names, hidden, isTyped). found: what analyse() says of the tree; names: has what it declares;
 * hidden: where the helpers are found; isTyped: it was TypeScript. Gives the edited program, with positions.
 */
export function rewrite(...program) {
  return new Rewriter(...program).rewrite()
}
