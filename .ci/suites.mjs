/**
 * Writes `build/suites`: one program for each process that runs tests. Start-up of a test process
 * costs more than most test files, so folders share a few processes. Files whose runs are long have a
 * process each, and campaigns one for each folder, so that both places stay busy until the end.
 *
 * Usage: node .ci/suites.mjs [--in FOLDER] [--quick | --all | FILE...]. Without files: all of
 * build/test but the campaigns. `--all`: with the campaigns. `--quick`: unit tests of seconds.
 * Prints what was written. `--in` takes another folder of `build`, for runs beside each other.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')

/** The source of a compiled file. */
function sourceOf(file) {
  return file.replace(/^build\//, '').replace(/js$/, 'ts')
}

/**
 * How a test runs, which its source says in the first comment by `@runs`: `alone`, in a process of
 * its own, because it takes long or changes its process; `together`, in one process with those of its
 * folder that say so, because they write what the others read; `campaign`, only when it is named:
 * faults, kills, power cuts, random histories, hostile values, whole suites on a second backend, the
 * package and the programs of the pages as users run them; `long`, not in `test:quick`.
 */
function runsOf(file) {
  const source = readFileSync(join(root, sourceOf(file)), 'utf8')
  const [comment] = /^\/\*\*[\s\S]*?\*\//.exec(source) ?? ['']
  return /@runs ([\w, ]+)/.exec(comment)?.[1].trim().split(', ') ?? []
}

const words = process.argv.slice(2)
const folder = join('build', words[0] === '--in' ? words.splice(0, 2)[1] : 'suites')
const [first] = words
const isQuick = first === '--quick'
const inFolder = isQuick ? join('test', 'unit') : 'test'
const leftOut = isQuick ? ['alone', 'campaign', 'long'] : first === '--all' ? [] : ['campaign']

const files =
  first !== undefined && !first.startsWith('--')
    ? words
    : readdirSync(join(root, inFolder), { recursive: true })
        .filter((file) => file.endsWith('.test.ts'))
        .map((file) => join('build', inFolder, file.replace(/ts$/, 'js')))
        .filter((file) => !runsOf(file).some((each) => leftOut.includes(each)))

/**
 * Processes that share the folders, so that the sources of each have about as many bytes. Their names
 * come first, and so do they: the longest of them must not be what everything waits for at the end.
 * The quick set has no other processes, and each loads the sources again: one for each job is enough.
 */
const sharedProcesses = isQuick ? 4 : 6

/** The shared process of each folder. The largest folders are placed first. */
function shareFolders() {
  const bytes = new Map()
  for (const file of files) {
    if (runsOf(file).some((each) => ['alone', 'together', 'campaign'].includes(each))) continue
    const { size } = statSync(join(root, sourceOf(file)))
    bytes.set(dirname(file), (bytes.get(dirname(file)) ?? 0) + size)
  }
  const loads = new Array(sharedProcesses).fill(0)
  const places = new Map()
  for (const [place, size] of [...bytes].sort(([, one], [, other]) => other - one)) {
    const least = loads.indexOf(Math.min(...loads))
    loads[least] += size
    places.set(place, `0-shared-${1 + least}`)
  }
  return places
}

const places = shareFolders()

function suiteOf(file) {
  const place = dirname(file)
  const runs = runsOf(file)
  if (runs.includes('alone')) return file
  if (runs.includes('together')) return `${place}/together`
  return runs.includes('campaign') ? place : places.get(place)
}

const suites = new Map()
for (const file of files.sort()) {
  const name = suiteOf(file)
    .replace(/^build\/test\//, '')
    .replace(/\.test\.js$/, '')
    .replaceAll('/', '-')
  suites.set(name, [...(suites.get(name) ?? []), file])
}

const prelude = "import '../../.ci/prelude/no-reports.mjs'"

rmSync(join(root, folder), { recursive: true, force: true })
mkdirSync(join(root, folder), { recursive: true })
for (const [name, members] of suites) {
  const imports = members.map((file) => `await import('${relative(folder, file)}')`)
  // A file alone may print TAP by other means than tap.
  const lines =
    members.length === 1
      ? imports
      : ["import t from 'tap'", ...imports.map((line, i) => `t.comment('${members[i]}')\n${line}`)]
  const path = join(folder, `${name}.test.js`)
  writeFileSync(join(root, path), [prelude, ...lines, ''].join('\n'))
  process.stdout.write(`${path}\n`)
}
