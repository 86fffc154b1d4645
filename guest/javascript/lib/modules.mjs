// Modules as executions see them: relative to the working directory, then what is installed globally.
import process from 'node:process'
import fs from 'node:fs'
import Module, { createRequire, isBuiltin } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

const FILE = 'cell.js' // executions are as if they stood there

function workingDirectory() {
  try {
    return process.cwd()
  } catch {
    return '/' // it was removed
  }
}

const isBare = (specifier) =>
  typeof specifier === 'string' && /^[^./\\#][^:]*$/.test(specifier) && !isBuiltin(specifier)

/** Directories with globally installed packages, as far as they exist. */
function globalRoots() {
  const { env, execPath } = process
  const home = env.HOME || '/nonexistent'
  const prefixes = [env.npm_config_prefix, path.resolve(execPath, '../..'), '/usr/local', '/usr',
    `${home}/.npm-global`, `${home}/.local`]
  const installed = prefixes.map((prefix) => prefix && `${prefix}/lib/node_modules`)
  const roots = [...(env.NODE_PATH ?? '').split(':'), ...installed, '/usr/share/nodejs']
  return [...new Set(roots)].filter((root) => root && fs.existsSync(root))
}

/** import() of a module that stands in this directory; each has its function. */
const importers = new Map()
function importerOf(directory) {
  let found = importers.get(directory)
  if (!found) {
    const file = path.join(directory, FILE)
    const module = new Module(file)
    module.filename = file
    module.paths = Module._nodeModulePaths(directory)
    module._compile('module.exports = (specifier, options) => import(specifier, options)', file)
    found = module.exports
    if (importers.size > 100) importers.clear()
    importers.set(directory, found)
  }
  return found
}

const call = (importer, specifier, options) =>
  options === undefined ? importer(specifier) : importer(specifier, options)

async function importGlobal(specifier, options, error) {
  for (const root of globalRoots()) {
    try {
      if (path.basename(root) === 'node_modules') return await call(importerOf(path.dirname(root)), specifier, options)
      const file = createRequire(path.join(root, FILE)).resolve(path.join(root, specifier))
      return await call(importerOf(root), pathToFileURL(file).href, options)
    } catch (other) {
      if (other?.code !== 'ERR_MODULE_NOT_FOUND' && other?.code !== 'MODULE_NOT_FOUND') throw other
    }
  }
  throw error
}

/** As import(), from the working directory. */
export async function importModule(specifier, options) {
  try {
    return await call(importerOf(workingDirectory()), specifier, options)
  } catch (error) {
    if (error?.code !== 'ERR_MODULE_NOT_FOUND' || !isBare(specifier)) throw error
    return importGlobal(specifier, options, error)
  }
}

/** What an import declaration binds, in its order: 'default', '*' or a name. isTyped: a name may be a type's. */
export function pick(namespace, wanted, specifier, isTyped) {
  return wanted.map((name) => {
    if (name === '*') return namespace
    if (name in namespace) return namespace[name]
    const whole = namespace.default // of CommonJS: not all its names are known before it runs
    if (whole !== null && /^(object|function)$/.test(typeof whole) && name in whole) return whole[name]
    if (isTyped) return undefined
    throw new SyntaxError(`The requested module '${specifier}' does not provide an export named '${name}'`)
  })
}

function requireGlobal(id, error, use) {
  for (const root of globalRoots()) {
    const from = createRequire(path.join(path.basename(root) === 'node_modules' ? path.dirname(root) : root, FILE))
    try {
      return use(from, path.basename(root) === 'node_modules' ? id : path.join(root, id))
    } catch (other) {
      if (other?.code !== 'MODULE_NOT_FOUND') throw other
    }
  }
  throw error
}

const local = () => createRequire(path.join(workingDirectory(), FILE))

function find(id, use) {
  const from = local()
  try {
    return use(from, id)
  } catch (error) {
    const isOwn = error?.code === 'MODULE_NOT_FOUND' && (error.requireStack?.length ?? 0) <= 1
    if (!isOwn || !isBare(id)) throw error
    return requireGlobal(id, error, use)
  }
}

/** What CommonJS modules see; one for all executions, following the working directory. */
export function makeModuleScope() {
  const filename = () => path.join(workingDirectory(), FILE)
  const module = new Module('.')
  const require = (id) => find(id, (from, name) => from(name))
  Object.defineProperty(require, 'name', { __proto__: null, value: 'require' })
  require.resolve = (id, options) => find(id, (from, name) => from.resolve(name, options))
  require.resolve.paths = (id) => local().resolve.paths(id)
  require.cache = Module._cache
  require.extensions = Module._extensions
  require.main = module // so that "if (require.main === module)" is true, as in a file that is run
  Object.assign(module, { filename: filename(), paths: Module._nodeModulePaths(workingDirectory()), require })
  const meta = {
    __proto__: null,
    get dirname() { return workingDirectory() },
    get filename() { return filename() },
    get url() { return pathToFileURL(filename()).href },
    get main() { return true },
    resolve: (id) => (isBuiltin(id) ? (id.startsWith('node:') ? id : `node:${id}`)
      : /^\.{0,2}\//.test(id) ? new URL(id, pathToFileURL(filename())).href
      : URL.canParse?.(id) ? id : pathToFileURL(require.resolve(id)).href),
  }
  process.mainModule = module
  process.argv[1] = filename() // as if it had been started so
  return {
    require, module, meta,
    get exports() { return module.exports },
    set exports(value) { module.exports = value },
    get __filename() { return filename() },
    get __dirname() { return workingDirectory() },
  }
}
