// What a program declares, and which names in it are not declared where they are used. Walks a tree of acorn once.
//
// A scope is { names, parent, depth }; depth counts functions. The program's own scope has depth 0 and its names are
// not in it: they outlive the program (names.mjs), so that a use of one of them is a reference like any other.

const FUNCTION = /^(Function(Declaration|Expression)|ArrowFunctionExpression)$/
const HOLDS_STATEMENTS = /(Statement|Declaration|SwitchCase|CatchClause)$/
const PERSISTENT = new Set(['var', 'let', 'const'])

const isNode = (value) => value !== null && typeof value === 'object' && typeof value.type === 'string'

function* childrenOf(node) {
  for (const key of Object.keys(node)) {
    const value = node[key]
    if (Array.isArray(value)) {
      for (const item of value) if (isNode(item)) yield item
    } else if (isNode(value)) {
      yield value
    }
  }
}

/** The names that a pattern binds. */
export function* namesOf(pattern) {
  switch (pattern?.type) {
    case 'Identifier':
      yield pattern.name
      break
    case 'ObjectPattern':
      for (const property of pattern.properties) yield* namesOf(property.value ?? property.argument)
      break
    case 'ArrayPattern':
      for (const element of pattern.elements) yield* namesOf(element)
      break
    case 'AssignmentPattern':
      yield* namesOf(pattern.left)
      break
    case 'RestElement':
      yield* namesOf(pattern.argument)
  }
}

function* declaredBy(declaration) {
  for (const declarator of declaration.declarations) yield* namesOf(declarator.id)
}

/** Names of `var` in these statements, functions left out. */
function collectVars(nodes, names) {
  for (const node of nodes) {
    if (FUNCTION.test(node.type) || !HOLDS_STATEMENTS.test(node.type)) continue
    if (node.type === 'VariableDeclaration' && node.kind === 'var') for (const name of declaredBy(node)) names.add(name)
    collectVars(childrenOf(node), names)
  }
}

/** Names that a list of statements declares for itself. */
function collectLexical(statements, names) {
  for (const node of statements) {
    if (node.type === 'VariableDeclaration' && node.kind !== 'var') for (const name of declaredBy(node)) names.add(name)
    if (/^(Class|Function)Declaration$/.test(node.type)) names.add(node.id.name)
  }
}

class Walker {
  found = {
    declared: new Map(), // name: kind
    references: [], // { node, name, shorthand, assigned: the value's node | update: the whole node }
    declarations: [], // { node, head: it stands in the head of a loop }
    awaits: [],
    loops: [], // for await
    imports: [], // import()
    metas: [], // import.meta
    isAsync: false,
  }

  program(tree) {
    const scope = { names: new Set(), parent: null, depth: 0 }
    const vars = new Set()
    collectVars(tree.body, vars)
    for (const name of vars) this.found.declared.set(name, 'var')
    for (const node of tree.body) this.declareTop(node.declaration ?? node, scope)
    for (const node of tree.body) this.visit(node, scope)
    return this.found
  }

  declareTop(node, scope) {
    const { declared } = this.found
    if (node.type === 'VariableDeclaration' && node.kind !== 'var') {
      for (const name of declaredBy(node)) {
        if (PERSISTENT.has(node.kind)) declared.set(name, node.kind)
        else scope.names.add(name) // `using`: disposed of when the program ends
      }
    } else if (/^(Class|Function)Declaration$/.test(node.type) && node.id) {
      declared.set(node.id.name, 'let')
    } else if (node.type === 'ImportDeclaration') {
      for (const { local } of node.specifiers) declared.set(local.name, 'const')
    }
  }

  visit(node, scope) {
    if (FUNCTION.test(node.type)) this.function(node, scope)
    else if (this[node.type]) this[node.type](node, scope)
    else this.children(node, scope)
  }

  children(node, scope) {
    for (const child of childrenOf(node)) this.visit(child, scope)
  }

  inner(scope, deeper = 0) {
    return { names: new Set(), parent: scope, depth: scope.depth + deeper }
  }

  refer(node, scope, more) {
    for (let at = scope; at; at = at.parent) if (at.names.has(node.name)) return
    this.found.references.push({ node, name: node.name, ...more })
  }

  // ---- names

  Identifier(node, scope) {
    this.refer(node, scope)
  }

  MemberExpression(node, scope) {
    this.visit(node.object, scope)
    if (node.computed) this.visit(node.property, scope)
  }

  Property(node, scope) {
    if (node.computed) this.visit(node.key, scope)
    if (!node.shorthand) return this.visit(node.value, scope)
    const { value } = node
    this.refer(value.left ?? value, scope, { shorthand: true })
    if (value.right) this.visit(value.right, scope)
  }

  MethodDefinition(node, scope) {
    if (node.computed) this.visit(node.key, scope)
    if (node.value) this.visit(node.value, node.type === 'PropertyDefinition' ? this.inner(scope, 1) : scope)
  }

  PropertyDefinition(node, scope) {
    this.MethodDefinition(node, scope)
  }

  LabeledStatement(node, scope) {
    this.visit(node.body, scope)
  }

  BreakStatement() {}

  ContinueStatement() {}

  MetaProperty(node) {
    if (node.meta.name === 'import') this.found.metas.push(node)
  }

  AssignmentExpression(node, scope) {
    if (node.left.type === 'Identifier') this.refer(node.left, scope, { assigned: node.right })
    else this.visit(node.left, scope)
    this.visit(node.right, scope)
  }

  UpdateExpression(node, scope) {
    if (node.argument.type === 'Identifier') this.refer(node.argument, scope, { update: node })
    else this.visit(node.argument, scope)
  }

  // ---- modules

  ImportDeclaration() {
    this.found.isAsync = true
  }

  ExportAllDeclaration() {
    this.found.isAsync = true
  }

  ExportNamedDeclaration(node, scope) {
    if (node.source) this.found.isAsync = true
    if (node.declaration) this.visit(node.declaration, scope)
  }

  ImportExpression(node, scope) {
    this.found.imports.push(node)
    this.children(node, scope)
  }

  // ---- waiting

  AwaitExpression(node, scope) {
    if (scope.depth === 0) this.found.isAsync = true
    this.found.awaits.push(node)
    this.visit(node.argument, scope)
  }

  // ---- scopes

  function(node, scope) {
    const inner = this.inner(scope, 1)
    if (node.type === 'FunctionExpression' && node.id) inner.names.add(node.id.name)
    if (node.type !== 'ArrowFunctionExpression') inner.names.add('arguments')
    for (const parameter of node.params) for (const name of namesOf(parameter)) inner.names.add(name)
    for (const parameter of node.params) this.visit(parameter, inner)
    if (node.body.type !== 'BlockStatement') return this.visit(node.body, inner)
    collectVars(node.body.body, inner.names)
    this.statements(node.body.body, inner)
  }

  statements(list, scope) {
    collectLexical(list, scope.names)
    for (const node of list) this.visit(node, scope)
  }

  BlockStatement(node, scope) {
    this.statements(node.body, this.inner(scope))
  }

  StaticBlock(node, scope) {
    const inner = this.inner(scope, 1)
    collectVars(node.body, inner.names)
    this.statements(node.body, inner)
  }

  SwitchStatement(node, scope) {
    const inner = this.inner(scope)
    this.visit(node.discriminant, scope)
    for (const { consequent } of node.cases) collectLexical(consequent, inner.names)
    for (const item of node.cases) this.children(item, inner)
  }

  CatchClause(node, scope) {
    const inner = this.inner(scope)
    for (const name of namesOf(node.param)) inner.names.add(name)
    if (node.param) this.visit(node.param, inner)
    this.statements(node.body.body, inner)
  }

  class(node, scope) {
    const inner = this.inner(scope)
    if (node.id) inner.names.add(node.id.name)
    if (node.superClass) this.visit(node.superClass, inner)
    this.visit(node.body, inner)
  }

  ClassDeclaration(node, scope) {
    this.class(node, scope)
  }

  ClassExpression(node, scope) {
    this.class(node, scope)
  }

  VariableDeclaration(node, scope) {
    this.declaration(node, scope, false)
  }

  declaration(node, scope, head) {
    const outlives = node.kind === 'var' ? scope.depth === 0 : scope.depth === 0 && !scope.parent && !head
    if (node.kind === 'await using' && scope.depth === 0) this.found.isAsync = true
    if (outlives && PERSISTENT.has(node.kind)) this.found.declarations.push({ node, head })
    this.children(node, scope)
  }

  loop(node, scope, first) {
    const inner = this.inner(scope)
    if (first?.type === 'VariableDeclaration') {
      if (first.kind !== 'var') for (const name of declaredBy(first)) inner.names.add(name)
      this.declaration(first, inner, true)
    }
    for (const child of childrenOf(node)) {
      if (child === first && child.type === 'VariableDeclaration') continue
      if (child.type === 'BlockStatement') this.BlockStatement(child, inner)
      else this.visit(child, inner)
    }
  }

  ForStatement(node, scope) {
    this.loop(node, scope, node.init)
  }

  ForInStatement(node, scope) {
    this.loop(node, scope, node.left)
  }

  ForOfStatement(node, scope) {
    if (node.await) {
      this.found.loops.push(node)
      if (scope.depth === 0) this.found.isAsync = true
    }
    this.loop(node, scope, node.left)
  }
}

export function analyse(tree) {
  return new Walker().program(tree)
}
