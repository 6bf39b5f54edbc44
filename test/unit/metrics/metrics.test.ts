/** Figures for monitors: Prometheus' page and OpenTelemetry's instruments. */
import { Registry } from 'prom-client'
import t, { type Test } from 'tap'
import { Database, MemoryFileSystem } from '../../../src/entries/index.js'
import {
  figuresText,
  observeByOpenTelemetry,
  traceByOpenTelemetry,
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

void t.test('a page looks once at each database', async (t) => {
  const database = await openDatabase(t, 'one')
  let looks = 0
  const counted = {
    directory: 'one',
    statistics: () => {
      looks++
      return database.statistics()
    },
  }
  figuresText([counted])
  t.equal(looks, 1)
  const registry = registerPrometheus([counted])
  await registry.metrics()
  t.equal(looks, 2)
  await registry.metrics()
  t.equal(looks, 3)
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
  const recorded: object[] = []
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
        createHistogram: (name: string) => {
          t.equal(name, 'cellardb.operation_duration')
          return {
            record: (seconds: number, attributes: object) => {
              t.ok(seconds >= 0 && seconds < 10, 'seconds')
              recorded.push(attributes)
            },
          }
        },
        addBatchObservableCallback: (callback: (result: object) => void) => callbacks.add(callback),
        removeBatchObservableCallback: (callback: (result: object) => void) =>
          callbacks.delete(callback),
      }
    },
  } as unknown as NonNullable<Parameters<typeof observeByOpenTelemetry>[1]>['meterProvider']
  const end = observeByOpenTelemetry(database, { meterProvider })
  await database.flush()
  const other = await openDatabase(t, 'two')
  await other.flush()
  t.strictSame(
    recorded.filter((each) => Object.values(each).includes('flush')),
    [{ 'db.namespace': 'one', operation: 'flush', table: 't', family: 'f' }],
  )
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

void t.test(
  'each operation and job is a span of OpenTelemetry, until the tracing ends',
  async (t) => {
    const spans: string[] = []
    const tracerProvider = {
      getTracer: () => ({
        startSpan: (name: string, { attributes }: { attributes: Record<string, string> }) => {
          t.match(attributes, { 'db.system.name': 'cellardb', 'db.namespace': 'one' })
          let how = ''
          return {
            recordException: (error: Error) => (how += ` ${error.name}`),
            setStatus: ({ code }: { code: number }) => (how += ` ${code}`),
            end: () => spans.push(name + how),
          }
        },
      }),
    } as unknown as NonNullable<
      NonNullable<Parameters<typeof traceByOpenTelemetry>[0]>['tracerProvider']
    >
    const database = await openDatabase(t, 'one')
    const table = database.table('t')
    const end = traceByOpenTelemetry({ tracerProvider })
    await table.get({ row: 'a' })
    table.getSync({ row: 'a' })
    await t.rejects(table.increment({ row: 'a', columns: { 'f:c': 1 } }))
    t.throws(() => table.deleteSync({ row: '' }))
    await database.flush()
    end()
    await table.get({ row: 'a' })
    t.strictSame(spans, [
      'get t',
      'get t',
      'update t CellarError 2',
      'delete t CellarError 2',
      'flush t',
    ])
    const toNothing = traceByOpenTelemetry()
    await table.get({ row: 'a' })
    toNothing()
  },
)

void t.test('the page has the figures of tables and families, disk and backups', async (t) => {
  const directory = t.testdir()
  const database = await Database.open(`${directory}/d`, { slowOperationMilliseconds: 60_000 })
  const table = await database.createTable('t', { families: { f: {}, g: {} } })
  await table.put({ row: 'a', cells: { 'f:c': 'v' } })
  await table.get({ row: 'a', columns: ['g'] })
  await database.flush()
  const read = (): Map<string, number> => {
    const lines = figuresText([database]).split('\n')
    const samples = lines.filter((line) => line !== '' && !line.startsWith('#'))
    return new Map(
      samples.map((line) => {
        const at = line.lastIndexOf(' ')
        const name = line.slice(0, at).replace(/database="[^"]*",?/, '')
        return [name.replace('{}', ''), Number(line.slice(at))]
      }),
    )
  }
  const page = read()
  t.equal(page.get('cellardb_table_operations_total{table="t",operation="put"}'), 1)
  const durations = 'duration_seconds_count'
  t.equal(page.get(`cellardb_table_operation_${durations}{table="t",operation="put"}`), 1)
  const family = (name: string, operation: string): number | undefined => {
    const labels = `table="t",family="${name}",operation="${operation}"`
    return page.get(`cellardb_family_operation_${durations}{${labels}}`)
  }
  t.equal(family('f', 'put'), 1)
  t.equal(family('g', 'put'), undefined)
  t.equal(family('g', 'get'), 1)
  t.equal(family('f', 'flush'), 1)
  t.equal(page.get('cellardb_family_files{table="t",family="f"}'), 1)
  t.equal(page.get('cellardb_family_files{table="t",family="g"}'), 0)
  const free = page.get('cellardb_device_free_bytes') ?? 0
  t.ok(free > 0 && free <= (page.get('cellardb_device_size_bytes') ?? 0))
  t.equal(page.get('cellardb_last_backup_timestamp_seconds'), 0)
  const before = Date.now()
  await database.backup(`${directory}/b`)
  const noted = read().get('cellardb_last_backup_timestamp_seconds') ?? 0
  t.ok(noted * 1000 >= before && noted * 1000 <= Date.now())
  await database.close()
  const again = await Database.open(`${directory}/d`, { readOnly: true })
  t.equal(again.statistics().lastBackup!.milliseconds, noted * 1000, 'also after an open')
  t.equal(again.statistics().lastBackup!.sequence, 1)
  await again.close()
  await Database.restore(`${directory}/b`, `${directory}/r`)
  const restored = await Database.open(`${directory}/r`)
  t.equal(restored.statistics().lastBackup, undefined, 'what was restored has no backup yet')
  await restored.close()
})
