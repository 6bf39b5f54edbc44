/**
 * Makes the modules that the package publishes out of what tsc has compiled, by esbuild:
 *
 * - one module for each entry of `exports` in package.json. They share what they have in common, so
 *   that there is one copy of every class, and load in a fraction of the time of some 300 files.
 * - the modules that worker threads load (`workers`), each in one file without relative imports:
 *   bundlers of applications copy such a file as it is.
 *
 * Packages stay imports; only xxhash-wasm is put into the workers, because a copied file may lie
 * where no package is found. No source maps: without their sources they tell nobody anything. Lines
 * end early, so that a stack trace names a place; the readable code is in the repository.
 *
 * The declarations beside them lead to those of tsc; declarations.mjs rolls them up for npm.
 */
import { build } from 'esbuild'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const root = join(import.meta.dirname, '..')
const folder = 'build/package'

/** Modules that `new URL('./NAME.js', import.meta.url)` names, by NAME. */
const workers = {
  'job-worker': 'build/src/storage/job/threads/job-worker.js',
  'prune-job/prune-hook': 'build/src/systems/messaging/prune-job/prune-hook.js',
  'extraction-worker': 'build/src/systems/repository/extraction/extraction-worker.js',
  'prune-job/processor-hook': 'build/src/systems/transactions/prune-job/processor-hook.js',
}

/** The compiled modules behind the exports of the package, by the name of the published file. */
const entries = JSON.parse(readFileSync(join(root, '.ci/entries.json'), 'utf8'))
const shareable = Object.entries(entries).filter(([name]) => workers[name] === undefined)

/** The licence of what the workers hold, as it asks. */
const notice = readFileSync(join(root, 'node_modules/xxhash-wasm/LICENSE.md'), 'utf8').trim()

const licence = `/* Holds xxhash-wasm.\n\n${notice}\n*/`

/** Errors keep the names of their classes, which Node prints: 'CellarError: ...', not 'u [...'. */
const namedErrors = {
  name: 'named errors',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]build[\\/](src|test)[\\/].*\.js$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8')
      const named = /^((?:export )?class (\w+) extends \w*(?:Error|Exception)) \{/gm
      return { contents: text.replace(named, "$1 {\n    static name = '$2'") }
    })
  },
}

const page = 'src/systems/repository/http/page'

/** The files of the page as texts, in place of the module that reads them. */
const pageTexts = {
  name: 'page',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]repository[\\/]http[\\/]page-file\.js$/ }, () => {
      const texts = readdirSync(join(root, page)).map((name) => {
        return [name, readFileSync(join(root, page, name), 'utf8')]
      })
      const files = JSON.stringify(Object.fromEntries(texts))
      return { contents: `const files = ${files}\nexport const pageFile = (name) => files[name]` }
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
  plugins: [pageTexts, namedErrors],
  // Node prints the whole line with an uncaught error; shorter ones make the package 2 % bigger.
  lineLimit: 500,
}

const built = await Promise.all([
  build({
    ...common,
    entryPoints: { ...Object.fromEntries(shareable), cellar: 'build/src/cli/cli.js' },
    splitting: true,
    chunkNames: 'shared-[hash]',
    packages: 'external',
  }),
  build({ ...common, entryPoints: workers, banner: { js: licence } }),
])

// esbuild drops the comment that lets webpack leave imports of modules of users to Node; webpack
// would warn then, and its bundle would find none of these modules.
// Nothing is removed before all is there: a failed build leaves the one before it.
rmSync(join(root, folder), { recursive: true, force: true })
for (const { path, text } of built.flatMap(({ outputFiles }) => outputFiles)) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text.replace(/\bimport\((?=[\w$])/g, 'import(/* webpackIgnore: true */ '))
}
for (const [name, path] of Object.entries(entries)) {
  const source = `../${path.replace(/^build\//, '')}`
  writeFileSync(join(root, folder, `${name}.d.ts`), `export * from '${source}'\n`)
}
