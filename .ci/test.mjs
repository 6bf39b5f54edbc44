/**
 * `npm test`: runs test files, each in a Node process of its own, some at a time. Prints one line for
 * each process, and at the end each failure with its place; all their TAP is in `build/test.tap`.
 *
 * tap's own runner is not used: it loads hooks into every process and parses all output once more,
 * at the cost of a second or two of processor time for each process.
 *
 * Usage: node .ci/test.mjs [--report FILE] [FILE...]. Without files: all of `build/suites`.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { failuresOf } from './failures.mjs'
import { countTap } from './summary.mjs'

const root = join(import.meta.dirname, '..')
const words = process.argv.slice(2)
const report = words[0] === '--report' ? words.splice(0, 2)[1] : join('build', 'test.tap')
const files = words.length > 0 ? words : suites()

/** Some tests wait for other processes. */
const jobs = 4
/** For machines that do much else: a limit ends what hangs, it measures nothing. */
const limitSeconds = Number(process.env.TAP_TIMEOUT ?? 1800)
/** What does not end itself at its limit is killed. */
const graceSeconds = 60

function suites() {
  const folder = join('build', 'suites')
  const names = readdirSync(join(root, folder)).filter((name) => name.endsWith('.test.js'))
  return names.sort().map((name) => join(folder, name))
}

/** The first start of tap builds its class of tests, out of the plug-ins that `.taprc` names. */
function buildTap() {
  const modules = join(root, 'node_modules')
  if (existsSync(join(modules, '@tapjs', 'test', 'test-built'))) return
  const tap = join(modules, 'tap', 'dist', 'esm', 'run.mjs')
  spawnSync(process.execPath, [tap, 'build'], { cwd: root, stdio: 'inherit' })
}

const running = new Set()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.once(signal, () => {
    for (const child of running) child.kill(signal)
    process.exit(1)
  })
}

/** Runs one file. Gives its TAP, the outcome, and in `ended` what the TAP does not say of it. */
async function run(file) {
  const started = performance.now()
  const child = spawn(process.execPath, ['--enable-source-maps', file], {
    cwd: root,
    env: { ...process.env, TAP_TIMEOUT: `${limitSeconds}` },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  running.add(child)
  const limit = limitSeconds === 0 ? 0 : (limitSeconds + graceSeconds) * 1000
  const timer = limit === 0 ? undefined : setTimeout(() => child.kill('SIGKILL'), limit)
  const chunks = []
  child.stdout.on('data', (chunk) => chunks.push(chunk))
  const [code, signal] = await once(child, 'close')
  clearTimeout(timer)
  running.delete(child)
  const text = Buffer.concat(chunks).toString()
  const { failed, failures } = countTap(text)
  const lacks = failures.filter((failure) => failure.startsWith('the test run '))
  const ended = {
    ...(signal !== null ? { signal } : code !== 0 ? { exitCode: code } : {}),
    ...(lacks.length > 0 ? { report: lacks.join(', ') } : {}),
  }
  const isGood = failed === 0 && code === 0
  const milliseconds = Math.round(performance.now() - started)
  return { text, outcome: isGood ? 'ok' : 'not ok', ended, milliseconds }
}

/** The TAP of a file as a subtest: `number` is that of its last line. */
function subtest(file, number, { text, outcome, ended, milliseconds }) {
  const lines = text.trimEnd().split('\n')
  const inner = lines.filter((line) => !line.startsWith('TAP version'))
  const details = Object.entries(ended).map(([name, value]) => `  ${name}: ${value}`)
  return [
    `# Subtest: ${file}`,
    ...inner.map((line) => `    ${line}`),
    `${outcome} ${number} - ${file} # time=${milliseconds}ms`,
    ...(details.length === 0 ? [] : ['  ---', ...details, '  ...']),
  ]
}

buildTap()
const parts = ['TAP version 14', `1..${files.length}`]
const waiting = files.values()
let number = 0

/** Runs files until none waits. */
async function work() {
  for (const file of waiting) {
    const result = await run(file)
    parts.push(...subtest(file, ++number, result))
    const { outcome, milliseconds } = result
    const name = basename(file, '.test.js')
    console.log(`${outcome.padEnd(6)} ${name} ${Math.round(milliseconds / 1000)} s`)
  }
}

await Promise.all(Array.from({ length: jobs }, work))
const tap = [...parts, ''].join('\n')
writeFileSync(resolve(root, report), tap)
const { passed, failed, skipped } = countTap(tap)
for (const { name, details } of failuresOf(tap)) {
  console.log(`\nFAILED ${name}`)
  if (details !== '') console.log(details)
}
console.log(`\nAll that the tests said is in ${report}`)
console.log(`${skipped} skipped`)
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
