/**
 * The dashboard for Grafana and the alert rules: every metric that they name is on the page of a
 * server, under the labels that they use. Prometheus's client library for Python parses the page if
 * it is installed.
 */
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { childEnvironment } from '../helpers/child-environment.js'
import { projectRoot } from '../rules/support.js'

interface Target {
  readonly expr: string
}

interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly targets?: readonly Target[]
  readonly gridPos: Readonly<Record<'x' | 'y' | 'w' | 'h', number>>
}

interface Dashboard {
  readonly panels: readonly Panel[]
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly query: string }[]
  }
}

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly for: string
  readonly labels: { readonly severity: string }
  readonly annotations: Readonly<Record<'summary' | 'description', string>>
}

function file(name: string): string {
  return readFileSync(join(projectRoot, 'docs/monitoring', name), 'utf8')
}

const dashboard = JSON.parse(file('dashboard.json')) as Dashboard
const { groups } = parse(file('alerts.yaml')) as { groups: { rules: Rule[] }[] }
const rules = groups.flatMap((group) => group.rules)

/** A process starts, which takes long on a busy machine. */
const wait = { timeout: 120_000 }

/** The page of `cellar serve` on a new directory. */
async function servedPage(t: Test): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'cellar-dashboards-'))
  const words = ['serve', '-d', join(directory, 'd'), '-p', '0']
  const cli = join(projectRoot, 'build/src/cli/cli.js')
  const child = spawn(process.execPath, [cli, ...words], { env: childEnvironment })
  const ended = new Promise((resolve) => child.once('close', resolve))
  t.teardown(async () => {
    child.kill('SIGTERM')
    await ended
    rmSync(directory, { recursive: true, force: true })
  })
  const url = await new Promise<string>((resolve, reject) => {
    let out = ''
    child.stdout.on('data', (text: Buffer) => {
      out += text.toString()
      const [, found] = /serves .* at (\S+)/.exec(out) ?? []
      if (found !== undefined) resolve(found)
    })
    child.once('close', () => reject(new Error(`the server ended: ${out}`)))
  })
  return (await fetch(`${url}/metrics`)).text()
}

/** Names of metrics in an expression, without suffixes of histograms. */
function namesIn(expression: string): string[] {
  const names = expression.match(/\b(?:cellardb|cellar|process|nodejs)_\w+/g) ?? []
  return names.map((name) => name.replace(/_(bucket|sum|count)$/, ''))
}

/** Quotes, and brackets that are closed in their order. */
function isBalanced(expression: string): boolean {
  let open = ''
  for (const sign of expression.replace(/"[^"]*"/g, '')) {
    if ('([{'.includes(sign)) open += sign
    else if (')]}'.includes(sign)) {
      if (open.at(-1) !== '([{'[')]}'.indexOf(sign)]) return false
      open = open.slice(0, -1)
    } else if (sign === '"') return false
  }
  return open === ''
}

void t.test('every metric of the dashboard and of the rules is on the page', wait, async (t) => {
  const page = await servedPage(t)
  const kinds = new Map(
    Array.from(page.matchAll(/^# TYPE (\S+) (\S+)$/gm), ([, name, kind]) => [name, kind]),
  )
  const expressions = [
    ...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
    ...dashboard.templating.list.flatMap(({ query }) => (query === 'prometheus' ? [] : [query])),
    ...rules.map(({ expr }) => expr),
  ]
  t.ok(expressions.length > 40)
  for (const expression of expressions) {
    const names = namesIn(expression)
    t.ok(names.length > 0 && isBalanced(expression), expression)
    for (const name of names) {
      const kind = kinds.get(name)
      t.ok(kind, name)
      const isBucket = expression.includes(`${name}_bucket`)
      t.equal(kind === 'histogram', isBucket, `${name} is a ${kind}`)
      const isRate = new RegExp(`(rate|increase)\\(${name}(_bucket)?[{[]`).test(expression)
      t.equal(isRate, kind !== 'gauge' && !expression.startsWith('label_values'), expression)
    }
  }
})

const parser =
  'import sys; from prometheus_client.parser import text_string_to_metric_families as families; ' +
  'print(len(list(families(sys.stdin.read()))))'
const python = ['python3', '/usr/bin/python3'].find((each) => {
  return spawnSync(each, ['-c', parser], { input: '' }).status === 0
})
const skip = python === undefined && "no prometheus_client: Debian's python3-prometheus-client"

void t.test("Prometheus's client library parses the page", { skip, ...wait }, async (t) => {
  const input = await servedPage(t)
  const { stdout, stderr } = spawnSync(python!, ['-c', parser], { input, encoding: 'utf8' })
  t.equal(Number(stdout), input.match(/^# TYPE /gm)?.length, stderr)
})

void t.test('panels do not overlap, and rules say what to do', (t) => {
  t.equal(new Set(dashboard.panels.map(({ id }) => id)).size, dashboard.panels.length)
  const taken = new Set<string>()
  for (const { title, gridPos } of dashboard.panels) {
    const { x, y, w, h } = gridPos
    t.ok(x + w <= 24, title)
    for (let column = x; column < x + w; column++) {
      for (let row = y; row < y + h; row++) {
        const place = `${column} ${row}`
        t.notOk(taken.has(place), title)
        taken.add(place)
      }
    }
  }
  t.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length)
  for (const { alert, for: time, labels, annotations } of rules) {
    t.match(time, /^\d+m$/, alert)
    t.match(labels.severity, /^(warning|critical)$/)
    t.ok(annotations.summary.length > 10 && annotations.description.length > 10)
  }
  t.end()
})
