/**
 * Makes the modules that the package publishes out of what tsc has compiled, by esbuild:
 *
 * - one module for each entry of `exports` in package.json. They share what they have in common, so
 *   that there is one copy of every class, and load in a fraction of the time of some 300 files.
 * - the modules that worker threads load (`job-worker` and `extraction-worker`), each in one file
 *   without relative imports: bundlers of applications copy such a file as it is. `job-worker` holds
 *   the code that the engine shares with it, and the other modules import that code from there.
 * - cell hooks are texts in the modules that name them, so that no bundle can lack them.
 *
 * Packages stay imports. Only xxhash-wasm is put into the modules: a copied worker may lie where no
 * package is found, and looking for the package takes longer than loading it. No source maps:
 * without their sources they tell nobody anything. Lines end early, so that a stack trace names a
 * place; the readable code is in the repository.
 *
 * The declarations beside them lead to those of tsc; declarations.mjs rolls them up for npm.
 */
import { build, transformSync } from 'esbuild'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { withShortNames } from './short-names.mjs'

const root = join(import.meta.dirname, '..')
const folder = 'build/package'

/** The compiled modules behind the exports of the package, by the name of the published file. */
const entries = JSON.parse(readFileSync(join(root, '.ci/entries.json'), 'utf8'))
const shareable = { ...entries, cellar: 'build/src/cli/cli.js' }

/**
 * Each file costs an import half a millisecond, and esbuild makes one for each set of entries that
 * share a module. So all entries take the module of threads and those of `api`, and entries that
 * load the engine take all of it: it lies in two files.
 */
const worker = 'job-worker'
const shared = [
  'build/src/base/group-queue.js',
  'build/src/api/index.js',
  'build/src/comfort/tables.js',
  'build/src/comfort/keys/key-parts.js',
  'build/src/comfort/indexes/entries.js',
  'build/src/comfort/indexes/entry-check.js',
  'build/src/comfort/indexes/entry-pages.js',
]
const foundation = [...shared, entries[worker]]
const overEngine = ['index', 'memory', 'testing', 'conformance-table', 'cellar', 'hbase']
const together = {
  name: 'modules in few files',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^entry:/ }, ({ path }) => ({ path, namespace: 'entry' }))
    // An entry that another one imports later is that entry, not a module of its own.
    onResolve({ filter: /^\./ }, ({ path, resolveDir, kind }) => {
      if (kind !== 'dynamic-import') return undefined
      const file = relative(root, join(resolveDir, path)).replaceAll('\\', '/')
      const name = Object.keys(shareable).find((each) => shareable[each] === file)
      return name === undefined ? undefined : { path: `entry:${name}`, namespace: 'entry' }
    })
    onLoad({ filter: /^entry:/, namespace: 'entry' }, ({ path }) => {
      const name = path.slice('entry:'.length)
      const taken = [...foundation, ...(overEngine.includes(name) ? [entries.index] : [])]
      const lines = taken.map((file) => `import './${file}'\n`)
      const first = name === 'cellar' ? '#!/usr/bin/env node\n' : ''
      const contents = `${first}${lines.join('')}export * from './${shareable[name]}'\n`
      return { contents, resolveDir: root }
    })
  },
}

/**
 * Errors keep the names of their classes, which Node prints: 'CellarError: ...', not 'u [...'.
 * The address of a cell hook is its text.
 */
const compiled = {
  name: 'compiled modules',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]build[\\/](src|test)[\\/].*\.js$/ }, async ({ path }) => {
      const text = readFileSync(path, 'utf8')
      const named = /^((?:export )?class (\w+) extends \w*(?:Error|Exception)) \{/gm
      const contents = text.replace(named, "$1 {\n    static name = '$2'")
      const [address, hook] = hookAddress.exec(contents) ?? []
      if (hook === undefined) return { contents }
      const { outputFiles } = await build({ ...common, entryPoints: [join(dirname(path), hook)] })
      const hookText = JSON.stringify(outputFiles[0].text)
      const url = `'data:text/javascript,' + encodeURIComponent(${hookText})`
      return { contents: contents.replace(address, () => url) }
    })
  },
}
const hookAddress = /new URL\('(\.\/prune-job\/[\w-]+\.js)', import\.meta\.url\)\.href/

const page = 'src/http/pages'

/** The text of a file of a page, without what only people read. */
function minified(name, text) {
  if (name.endsWith('.html')) return text.replace(/\n\s+/g, '\n')
  return transformSync(text, { loader: name.endsWith('.css') ? 'css' : 'js', minify: true }).code
}

/** The files of the pages as texts, in place of the module that reads them. */
const pageTexts = {
  name: 'page',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]http[\\/]page-file\.js$/ }, () => {
      const texts = readdirSync(join(root, page)).map((name) => {
        const text = readFileSync(join(root, page, name), 'utf8')
        return [name, minified(name, text)]
      })
      const files = JSON.stringify(Object.fromEntries(texts))
      return { contents: `const files = ${files}\nexport const pageFile = (name) => files[name]` }
    })
  },
}

/** The kernel of native-free as bytes: a start need not assemble it, nor load the assembler. */
const assembledKernel = {
  name: 'assembled kernel',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]native-free[\\/]kernel-bytes\.js$/ }, async ({ path }) => {
      const { kernelBytes } = await import(pathToFileURL(path).href)
      const { kernelPages } = await import(pathToFileURL(join(dirname(path), 'kernel.js')).href)
      const text = Buffer.from(kernelBytes(kernelPages)).toString('base64')
      const contents = `export const kernelBytes = () => Buffer.from('${text}', 'base64')\n`
      return { contents }
    })
  },
}

/** The licence of xxhash-wasm, as it asks, in the files that hold it. */
const notice = readFileSync(join(root, 'node_modules/xxhash-wasm/LICENSE.md'), 'utf8').trim()
const licence = `/* Holds xxhash-wasm.\n\n${notice}\n*/\n`
const checksums = join(root, 'node_modules/xxhash-wasm/esm/xxhash-wasm.js')
const heldChecksums = {
  name: 'xxhash-wasm is held',
  setup({ onResolve }) {
    onResolve({ filter: /^xxhash-wasm$/ }, () => ({ path: checksums }))
  },
}

/**
 * Modules of Node, by `getBuiltinModule`: an import of `node:fs` alone has Node load what every getter
 * of the module names, streams and promises among it. Such getters cannot be imported here.
 */
const builtins = {
  name: 'modules of Node',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:/ }, ({ path, kind, importer }) => {
      // Not shared: a module that two entries share would be a file.
      const suffix = `?${importer}`
      return kind === 'import-statement' ? { path, suffix, namespace: 'builtin' } : undefined
    })
    onLoad({ filter: /^/, namespace: 'builtin' }, ({ path }) => {
      const members = Object.getOwnPropertyDescriptors(process.getBuiltinModule(path))
      const lines = Object.keys(members)
        .filter((name) => members[name].get === undefined && /^[a-z]\w+$/i.test(name))
        .map((name) => `export const ${name} = /* @__PURE__ */ (() => held.${name})()\n`)
      const held = `const held = /* @__PURE__ */ process.getBuiltinModule('${path}')\n`
      return { contents: `${held}export default held\n${lines.join('')}` }
    })
  },
}

const common = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  format: 'esm',
  outdir: folder,
  logLevel: 'warning',
  write: false,
  minify: true,
  metafile: true,
  plugins: [pageTexts, compiled, assembledKernel, heldChecksums, builtins],
}

const built = await Promise.all([
  build({
    ...common,
    entryPoints: Object.keys(shareable).map((name) => ({ in: `entry:${name}`, out: name })),
    splitting: true,
    chunkNames: 'shared-[hash]',
    packages: 'external',
    plugins: [...common.plugins, together],
  }),
  build({
    ...common,
    entryPoints: ['build/src/systems/repository/extraction/extraction-worker.js'],
  }),
])

const files = built.flatMap(({ outputFiles, metafile }) => {
  return outputFiles.map(({ path, text }) => {
    const { inputs } = metafile.outputs[relative(root, path)]
    return { path, text, inputs: Object.keys(inputs) }
  })
})

/** The exports or imports of a clause `{a as b,c}`, as pairs of names. */
function namesOf(clause) {
  return clause
    .split(',')
    .map((each) => each.trim().split(' as '))
    .map(([a, b]) => [a, b ?? a])
}

/** Puts the file that all entries share in the place of the worker, which only names its exports. */
function holdInWorker() {
  const entry = files.find(({ path }) => path.endsWith(`${worker}.js`))
  const forwards = /^import\{([^}]+)\}from"\.\/(shared-\w+\.js)";export\{([^}]+)\};\s*$/
  const [, imported, shared, exported] = forwards.exec(entry.text.replaceAll('\n', ''))
  const held = files.find(({ path }) => path.endsWith(shared))
  const [all, clause] = /export\{([^}]+)\};\s*$/.exec(held.text)
  const localOf = new Map(namesOf(clause).map(([local, name]) => [name, local]))
  const nameOf = new Map(namesOf(imported).map(([name, local]) => [local, name]))
  const added = namesOf(exported).map(([local, name]) => {
    return `${localOf.get(nameOf.get(local))} as ${name}`
  })
  entry.text = held.text.slice(0, -all.length) + `export{${[clause, ...added].join(',')}};\n`
  entry.inputs = held.inputs
  files.splice(files.indexOf(held), 1)
  for (const file of files) file.text = file.text.replaceAll(`"./${shared}"`, `"./${worker}.js"`)
}

holdInWorker()

// Minifying drops the comment that lets webpack leave imports of modules of users to Node; webpack
// would warn then, and its bundle would find none of these modules.
const texts = files.map(({ path, text, inputs }) => {
  const first = inputs.some((each) => /\bxxhash-wasm\b/.test(each)) ? licence : ''
  const short = withShortNames(path, text)
  return first + short.replace(/\bimport\((?=[\w$])/g, 'import(/* webpackIgnore: true */ ')
})
// Nothing is removed before all is there: a failed build leaves the one before it.
rmSync(join(root, folder), { recursive: true, force: true })
mkdirSync(join(root, folder), { recursive: true })
for (const [index, { path }] of files.entries()) writeFileSync(path, texts[index])
for (const [name, path] of Object.entries(entries)) {
  const source = `../${path.replace(/^build\//, '')}`
  writeFileSync(join(root, folder, `${name}.d.ts`), `export * from '${source}'\n`)
}
