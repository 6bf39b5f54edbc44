/**
 * Makes the modules that the package publishes out of what tsc has compiled, by esbuild:
 *
 * - one module for each entry of `exports` in package.json. They share what they have in common, so
 *   that there is one copy of every class, and load in a fraction of the time of some 300 files.
 * - the modules that worker threads load (`workers`), each in one file without relative imports:
 *   bundlers of applications copy such a file as it is.
 *
 * Packages stay imports; only xxhash-wasm is put into the workers, because a copied file may lie
 * where no package is found. No source maps: without their sources they tell nobody anything, and
 * the code is not minified. It has no comments: those of the public parts are in the declarations.
 */
import { build, transform } from 'esbuild'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const root = join(import.meta.dirname, '..')
const folder = 'build/package'

/** Modules that `new URL('./NAME.js', import.meta.url)` names, by NAME. */
const workers = {
  'job-worker': 'build/src/job/job-worker.js',
  'prune-job/prune-hook': 'build/src/messaging/prune-job/prune-hook.js',
  'extraction-worker': 'build/src/repository/extraction/extraction-worker.js',
  'prune-job/processor-hook': 'build/src/transactions/prune-job/processor-hook.js',
}

/** The compiled modules behind the exports of the package, by the name of the published file. */
function entries() {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return Object.fromEntries(
    Object.values(exports)
      .filter(({ types }) => types !== undefined)
      .map((target) => [
        target.default.replace(`./${folder}/`, '').replace(/\.js$/, ''),
        target.types.replace(/\.d\.ts$/, '.js'),
      ])
      .filter(([name]) => workers[name] === undefined),
  )
}

/** The licence of what the workers hold, as it asks. */
const notice = readFileSync(join(root, 'node_modules/xxhash-wasm/LICENSE.md'), 'utf8').trim()

const common = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  format: 'esm',
  outdir: folder,
  logLevel: 'warning',
  write: false,
  // Takes out the comments; lines come back in withoutComments.
  minifyWhitespace: true,
}

const built = await Promise.all([
  build({
    ...common,
    entryPoints: { ...entries(), cellar: 'build/src/cli.js' },
    splitting: true,
    chunkNames: 'shared-[hash]',
    packages: 'external',
  }),
  build({ ...common, entryPoints: workers }),
])

/** The code in lines again, as a stack trace and an uncaught error need it. */
async function withoutComments({ text }, banner) {
  const { code } = await transform(text, { target: common.target, banner })
  return code
}

const [shared, alone] = built.map(({ outputFiles }) => outputFiles)
const licence = `/* Holds xxhash-wasm.\n\n${notice}\n*/`
const modules = await Promise.all([
  ...shared.map(async (file) => ({ path: file.path, code: await withoutComments(file) })),
  ...alone.map(async (file) => ({ path: file.path, code: await withoutComments(file, licence) })),
])

// Nothing is removed before all is there: a failed build leaves the one before it.
rmSync(join(root, folder), { recursive: true, force: true })
for (const { path, code } of modules) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, code)
}
