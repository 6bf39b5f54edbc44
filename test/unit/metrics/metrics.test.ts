/** Figures for monitors: Prometheus' page and OpenTelemetry's instruments. */
import { Registry } from 'prom-client'
import t, { type Test } from 'tap'
import { Database, MemoryFileSystem } from '../../../src/entries/index.js'
import {
  figuresText,
  observeByOpenTelemetry,
  prometheusPage,
  registerPrometheus,
} from '../../../src/metrics/index.js'

async function openDatabase(t: Test, directory: string): Promise<Database> {
  const database = await Database.open(directory, { fileSystem: new MemoryFileSystem() })
  t.teardown(() => database.close())
  const table = await database.createTable('t', { families: { f: {} } })
  for (const row of ['a', 'b', 'c']) await table.put({ row, cells: { 'f:c': row } })
  return database
}

void t.test("Prometheus' page has the figures of all databases", async (t) => {
  const databases = [await openDatabase(t, 'one'), await openDatabase(t, 'two')]
  const page = await prometheusPage(...databases)
  const lines = page.split('\n')
  for (const name of ['one', 'two']) {
    t.ok(lines.includes(`cellardb_operations_total{database="${name}",operation="put"} 3`))
    t.ok(lines.includes(`cellardb_open_snapshots{database="${name}"} 0`))
  }
  t.match(page, '# TYPE cellardb_operations_total counter')
  t.match(page, '# TYPE cellardb_operation_duration_seconds histogram')
  const put = 'database="one",operation="put"'
  const name = 'cellardb_operation_duration_seconds'
  const valueOf = (sample: string): number => {
    const line = lines.find((each) => each.startsWith(`${sample} `))
    return Number(line?.slice(sample.length))
  }
  const count = valueOf(`${name}_count{${put}}`)
  t.ok(count > 0, 'the first operation is timed')
  t.equal(valueOf(`${name}_bucket{${put},le="+Inf"}`), count)
  t.equal(valueOf(`${name}_bucket{${put},le="10"}`), count, 'seconds')
  t.ok(valueOf(`${name}_bucket{${put},le="0.00001"}`) <= count)
  t.ok(valueOf(`${name}_sum{${put}}`) > 0)
})

void t.test('the page without a package has the same lines', async (t) => {
  const database = await openDatabase(t, 'a "name"')
  const byPackage = (await prometheusPage(database)).split('\n').filter((line) => line !== '')
  const own = figuresText([database])
    .split('\n')
    .filter((line) => line !== '')
  const ordered = (lines: readonly string[]): string[] => lines.map((line) => line.trim()).sort()
  t.strictSame(ordered(own), ordered(byPackage))
  await database.close()
  t.notMatch(figuresText([database]), 'operation="put"')
})

void t.test('a page is read anew each time, without databases that are closed', async (t) => {
  const registry = new Registry()
  const database = await openDatabase(t, 'one')
  const databases = [database]
  t.equal(registerPrometheus(databases, { registry, prefix: 'my_' }), registry)
  databases.pop()
  t.match(await registry.metrics(), 'my_operations_total{database="one",operation="get"} 0')
  await database.table('t').get({ row: 'a' })
  t.match(await registry.metrics(), 'my_operations_total{database="one",operation="get"} 1')
  await database.close()
  t.notMatch(await registry.metrics(), 'database="one"')
})

void t.test('OpenTelemetry observes until it is ended', async (t) => {
  const database = await openDatabase(t, 'one')
  const made = new Map<object, string>()
  const callbacks = new Set<(result: object) => void>()
  const create = (name: string) => {
    const instrument = {}
    made.set(instrument, name)
    return instrument
  }
  const meterProvider = {
    getMeter: (name: string) => {
      t.equal(name, 'cellardb')
      return {
        createObservableGauge: create,
        createObservableCounter: create,
        addBatchObservableCallback: (callback: (result: object) => void) => callbacks.add(callback),
        removeBatchObservableCallback: (callback: (result: object) => void) =>
          callbacks.delete(callback),
      }
    },
  } as unknown as NonNullable<Parameters<typeof observeByOpenTelemetry>[1]>['meterProvider']
  const end = observeByOpenTelemetry(database, { meterProvider })
  const observed = new Map<string, number>()
  const observe = (instrument: object, value: number, attributes: Record<string, string>) => {
    t.equal(attributes['db.namespace'], 'one')
    observed.set([made.get(instrument), attributes['operation'] ?? ''].join(' '), value)
  }
  for (const callback of callbacks) callback({ observe })
  t.equal(observed.get('cellardb.operations put'), 3)
  t.ok(observed.has('cellardb.log_bytes '))
  end()
  t.equal(callbacks.size, 0)
  const toNothing = observeByOpenTelemetry(database)
  toNothing()
})
