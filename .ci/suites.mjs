/**
 * Writes `build/suites`: one program for each process that runs tests. Start-up of a test process
 * costs more than most test files, so all files of a folder share one process. Files whose runs are
 * long have a process each, so that both places stay busy until the end.
 *
 * Usage: node .ci/suites.mjs [FILE...]. Without files: all of build/test but the campaigns, which
 * `.ci/run` and `npm run crash` run. Prints what was written.
 */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const target = join(root, 'build', 'suites')

/** Folders whose files take long, or change their process. */
const alone =
  /^build\/test\/(bench|conformance\/(hbase|level|me)|crash\/(damage|memory|runtimes|unlogged)|docs|install|model\/model|rules|unit\/(codec|metastore\/pulsar\/(histories|processes|zookeeper)|transactions\/isolation))/

/**
 * Faults, kills, power cuts, long histories beside the model; planted defects that suites of cases
 * must find; abstract-level's suite over further backends; the benchmarks' harness, the demonstration
 * of `npm start`; threads that die; the page in a browser; the package and its declarations as users
 * compile them: minutes, even in short form.
 */
const campaigns =
  /^build\/test\/(crash\/(?!found)|model\/long|bench\/harness|rules\/(packaging|public)|unit\/(cities|job\/worker-executor|metastore\/bench|server\/repository-browser)|conformance\/(level\/(injected|memory)|\w+\/planted))/

const files =
  process.argv.length > 2
    ? process.argv.slice(2)
    : readdirSync(join(root, 'build', 'test'), { recursive: true })
        .filter((file) => file.endsWith('.test.js'))
        .map((file) => join('build', 'test', file))
        .filter((file) => !campaigns.test(file))

/**
 * Processes that share the folders of unit tests. Their names come first, and so do they: the
 * longest of them must not be what everything waits for at the end.
 */
const unitProcesses = 6
const unitFolders = []

function suiteOf(file) {
  const folder = dirname(file)
  // The first rolls the declarations up that the second reads, in place.
  if (/rules\/(packaging|public-types)/.test(file)) return `${folder}/package`
  if (alone.test(file)) return file
  if (!file.startsWith('build/test/unit/')) return folder
  if (!unitFolders.includes(folder)) unitFolders.push(folder)
  return `0-unit-${1 + (unitFolders.indexOf(folder) % unitProcesses)}`
}

const suites = new Map()
for (const file of files.sort()) {
  const name = suiteOf(file)
    .replace(/^build\/test\//, '')
    .replace(/\.test\.js$/, '')
    .replaceAll('/', '-')
  suites.set(name, [...(suites.get(name) ?? []), file])
}

/**
 * Tap loads hooks into every process and thread that a test starts, at the cost of a second each.
 * They serve the coverage report, which is off.
 */
const prelude = `import { syncBuiltinESMExports } from 'node:module'
import threads from 'node:worker_threads'

globalThis[Symbol.for('process-on-spawn@*:singletonId')]?.listeners.splice(0)
process.env.NODE_OPTIONS = ''
threads.Worker = class extends threads.Worker {
  constructor(file, options) {
    super(file, { execArgv: [], ...options })
  }
}
syncBuiltinESMExports()
`

rmSync(target, { recursive: true, force: true })
mkdirSync(target, { recursive: true })
writeFileSync(join(target, 'prelude.js'), prelude)
for (const [name, members] of suites) {
  const imports = members.map((file) => `await import('${relative('build/suites', file)}')`)
  // A file alone may print TAP by other means than tap.
  const lines =
    members.length === 1
      ? imports
      : ["import t from 'tap'", ...imports.map((line, i) => `t.comment('${members[i]}')\n${line}`)]
  const path = join('build', 'suites', `${name}.test.js`)
  writeFileSync(join(root, path), ["import './prelude.js'", ...lines, ''].join('\n'))
  process.stdout.write(`${path}\n`)
}
