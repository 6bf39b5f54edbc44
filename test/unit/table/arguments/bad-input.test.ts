import t from 'tap'
import { CellarError, ErrorCode } from '../../../../src/base/errors.js'
import type { EmbeddedTable } from '../../../../src/entries/index.js'
import type { BatchOperation, PutCell } from '../../../../src/api/index.js'
import { plainResult, showResult } from '../../../helpers/cells/plain-cells.js'
import { callsOf, type CallForm, type TableCalls } from '../../../helpers/table-calls.js'
import { TestDatabase } from '../../../helpers/test-database.js'

/** Any value, wherever the types forbid it. */
function wrong<T>(value: unknown): T {
  return value as T
}

type Call = (calls: TableCalls) => Promise<unknown>

interface Refusal {
  readonly what: string
  readonly code: ErrorCode
  readonly call: Call
}

const invalid = ErrorCode.invalidArgument
const noFamily = ErrorCode.noSuchColumnFamily
const rowBytesMax = 32_767
const cellBytesMax = 64 * 1024

function refused(what: string, call: Call, code: ErrorCode = invalid): Refusal {
  return { what, code, call }
}

/** Values of every wrong type, with their names. */
function wrongValues(...except: string[]): [string, unknown][] {
  const all: [string, unknown][] = [
    ['number', 5],
    ['null', null],
    ['array', []],
    ['string', 'text'],
    ['object', {}],
    ['boolean', true],
    ['symbol', Symbol('text')],
    ['function', () => 'text'],
  ]
  return all.filter(([name]) => !except.includes(name))
}

/** Operations with a row, made from the row. */
const rowOperations: readonly [string, (calls: TableCalls, row: string) => Promise<unknown>][] = [
  ['get', (calls, row) => calls.get({ row })],
  ['exists', (calls, row) => calls.exists({ row })],
  ['put', (calls, row) => calls.put({ row, cells: { 'f:q': 'v' } })],
  ['delete', (calls, row) => calls.delete({ row })],
  ['increment', (calls, row) => calls.increment({ row, columns: { 'f:n': 1 } })],
  ['append', (calls, row) => calls.append({ row, columns: { 'f:q': 'v' } })],
  ['mutateRow', (calls, row) => calls.mutateRow({ row, mutations: [{ delete: {} }] })],
  [
    'checkAndMutate',
    (calls, row) => calls.checkAndMutate({ row, column: 'f:x', notExists: true }, { delete: {} }),
  ],
]

function rowRefusals(): Refusal[] {
  return rowOperations.flatMap(([name, call]) => [
    refused(`${name} of an empty row`, (calls) => call(calls, '')),
    refused(`${name} of an empty row of bytes`, (calls) => call(calls, wrong(Buffer.alloc(0)))),
    refused(`${name} of a row that is too long`, (calls) => {
      return call(calls, 'x'.repeat(rowBytesMax + 1))
    }),
    refused(`${name} of a row that is too long in UTF-8`, (calls) => {
      return call(calls, 'é'.repeat(rowBytesMax / 2 + 1))
    }),
    refused(`${name} without a row`, (calls) => call(calls, wrong(undefined))),
    ...wrongValues('string').map(([type, value]) => {
      return refused(`${name} of a row that is a ${type}`, (calls) => call(calls, wrong(value)))
    }),
  ])
}

/** The whole operation is of a wrong type. */
function shapeRefusals(): Refusal[] {
  const shapes: [string, (calls: TableCalls, value: unknown) => Promise<unknown>][] = [
    ['get', (calls, value) => calls.get(wrong(value))],
    ['exists', (calls, value) => calls.exists(wrong(value))],
    ['put', (calls, value) => calls.put(wrong(value))],
    ['delete', (calls, value) => calls.delete(wrong(value))],
    ['increment', (calls, value) => calls.increment(wrong(value))],
    ['append', (calls, value) => calls.append(wrong(value))],
    ['mutateRow', (calls, value) => calls.mutateRow(wrong(value))],
    ['check', (calls, value) => calls.checkAndMutate(wrong(value), { delete: {} })],
    ['getList', (calls, value) => calls.getList(wrong([value]))],
    ['putList', (calls, value) => calls.putList(wrong([value]))],
    ['checkAndMutateList', (calls, value) => calls.checkAndMutateList(wrong([value]))],
    [
      'action',
      (calls, value) => {
        return calls.checkAndMutate({ row: 'r', column: 'f:x', notExists: true }, wrong(value))
      },
    ],
    ['mutation', (calls, value) => calls.mutateRow({ row: 'r', mutations: [wrong(value)] })],
  ]
  return shapes.flatMap(([name, call]) => {
    return wrongValues().map(([type, value]) => {
      return refused(`${name} that is a ${type}`, (calls) => call(calls, value))
    })
  })
}

function listRefusals(): Refusal[] {
  const lists: [string, (calls: TableCalls, value: unknown) => Promise<unknown>][] = [
    ['getList', (calls, value) => calls.getList(wrong(value))],
    ['putList', (calls, value) => calls.putList(wrong(value))],
    ['deleteList', (calls, value) => calls.deleteList(wrong(value))],
    ['checkAndMutateList', (calls, value) => calls.checkAndMutateList(wrong(value))],
    ['batch', (calls, value) => calls.batch(wrong(value))],
    ['mutations', (calls, value) => calls.mutateRow({ row: 'r', mutations: wrong(value) })],
  ]
  return lists.flatMap(([name, call]) => {
    return wrongValues('array').map(([type, value]) => {
      return refused(`${name} that is a ${type}`, (calls) => call(calls, value))
    })
  })
}

/** Members of reads, each with every wrong type that it does not take. */
function readRefusals(): Refusal[] {
  const members: [string, string[], unknown[]][] = [
    ['versions', ['number'], [0, -1, 1.5, NaN, Infinity, '1']],
    ['timeRange', [], [[5, 1], [1], [1, 2, 3], [-1, 1], ['a', 'b'], [1.5, 2], [NaN, 1], [1, null]]],
    ['timestamp', ['number'], [-1, 1.5, NaN, Infinity, 2 ** 53, -1n, 2n ** 63n]],
    ['familyTimeRanges', ['object', 'array', 'function'], [{ f: 5 }, { f: [5, 1] }, { f: null }]],
    ['columns', ['array'], [[5], [null], [{}], [{ family: 5 }], [{ family: 'f', qualifier: 5 }]]],
    ['filter', [], [{ filterCell: 5 }]],
    ['cellsPerFamilyMax', ['number'], [-1, 1.5, NaN]],
    ['cellsPerFamilyOffset', ['number'], [-1, 1.5, NaN]],
    ['snapshot', [], [{ sequence: 1 }]],
  ]
  const scanMembers: [string, string[], unknown[]][] = [
    ['startRow', ['string'], ['x'.repeat(rowBytesMax + 1)]],
    ['stopRow', ['string'], ['x'.repeat(rowBytesMax + 1)]],
    ['prefix', ['string'], ['x'.repeat(rowBytesMax + 1)]],
    ['startInclusive', ['boolean'], []],
    ['stopInclusive', ['boolean'], []],
    ['reversed', ['boolean'], []],
    ['raw', ['boolean'], []],
    ['limit', ['number'], [0, -1, 1.5, NaN, Infinity]],
    ['batch', ['number'], [0, -1, 1.5, NaN, Infinity]],
  ]
  const refusals: Refusal[] = []
  for (const [name, allowed, values] of [...members, ...scanMembers]) {
    const all = [...wrongValues(...allowed).map(([, value]) => value), ...values]
    for (const value of all) {
      const shown = describe(value)
      const options = wrong<object>({ [name]: value })
      refusals.push(refused(`scan with ${name} ${shown}`, (calls) => calls.scan(options)))
      if (members.some(([member]) => member === name)) {
        const get = { row: 'r', ...options }
        refusals.push(refused(`get with ${name} ${shown}`, (calls) => calls.get(get)))
      }
    }
  }
  return refusals
}

const combinations: readonly Refusal[] = [
  refused('timestamp with timeRange', (calls) => {
    return calls.get({ row: 'r', timestamp: 1, timeRange: [0, 2] })
  }),
  refused('prefix with startRow', (calls) => calls.scan({ prefix: 'a', startRow: 'a' } as never)),
  refused('prefix with stopRow', (calls) => calls.scan({ prefix: 'a', stopRow: 'b' } as never)),
  refused('prefix with startInclusive', (calls) =>
    calls.scan({ prefix: 'a', startInclusive: false } as never),
  ),
  refused('prefix with stopInclusive', (calls) =>
    calls.scan({ prefix: 'a', stopInclusive: true } as never),
  ),
  refused('raw with a column', (calls) => calls.scan({ raw: true, columns: ['f:q'] })),
  refused('get of an unknown family', (calls) => calls.get({ row: 'r', columns: ['g'] }), noFamily),
  refused('scan of an unknown column', (calls) => calls.scan({ columns: ['g:q'] }), noFamily),
  refused(
    'time range of an unknown family',
    (calls) => calls.scan({ familyTimeRanges: { g: [0, 1] } }),
    noFamily,
  ),
  refused('the empty family', (calls) => calls.get({ row: 'r', columns: [':q'] }), noFamily),
]

const puts: readonly Refusal[] = [
  refused('put of no cells', (calls) => calls.put({ row: 'r', cells: {} })),
  refused('put of an empty list', (calls) => calls.put({ row: 'r', cells: [] })),
  ...wrongValues('object', 'array').map(([type, value]) => {
    return refused(`put of cells that are a ${type}`, (calls) => {
      return calls.put({ row: 'r', cells: wrong(value) })
    })
  }),
  ...wrongValues('string').map(([type, value]) => {
    return refused(`put of a value that is a ${type}`, (calls) => {
      return calls.put({ row: 'r', cells: wrong({ 'f:a': 'ok', 'f:q': value }) })
    })
  }),
  ...wrongValues().map(([type, value]) => {
    return refused(`put of a cell that is a ${type}`, (calls) => {
      return calls.put({ row: 'r', cells: [{ column: 'f:a' }, wrong<PutCell>(value)] })
    })
  }),
  ...wrongValues('string').map(([type, value]) => {
    return refused(`put of a column that is a ${type}`, (calls) => {
      return calls.put({ row: 'r', cells: [{ column: wrong(value), value: 'v' }] })
    })
  }),
  refused('put of an unknown cell type', (calls) => {
    return calls.put({ row: 'r', cells: [{ column: 'f:q', type: wrong('Maximum') }] })
  }),
  ...(['DeleteFamily', 'DeleteFamilyVersion'] as const).map((type) => {
    return refused(`put of a ${type} of one column`, (calls) => {
      return calls.put({ row: 'r', cells: [{ column: 'f:q', type, timestamp: 5 }] })
    })
  }),
  refused('delete with a ttl', (calls) => calls.delete(wrong({ row: 'r', ttlMilliseconds: 1000 }))),
  refused(
    'put to an unknown family',
    (calls) => calls.put({ row: 'r', cells: { 'f:a': 'v', 'g:q': 'v' } }),
    noFamily,
  ),
  refused(
    'put to a family with a colon',
    (calls) => {
      const column = { family: 'f:', qualifier: 'q' }
      return calls.put({ row: 'r', cells: [{ column, value: 'v' }] })
    },
    noFamily,
  ),
  refused('put to a family without qualifier', (calls) => {
    return calls.put({ row: 'r', cells: { f: 'v' } })
  }),
  refused(
    'put of a cell that is too large',
    (calls) => calls.put({ row: 'r', cells: { 'f:a': 'v', 'f:q': 'x'.repeat(cellBytesMax) } }),
    ErrorCode.tooLarge,
  ),
  refused(
    'put of a qualifier that is too large',
    (calls) => calls.put({ row: 'r', cells: { [`f:${'x'.repeat(cellBytesMax)}`]: 'v' } }),
    ErrorCode.tooLarge,
  ),
  refused(
    'append that makes a cell too large',
    (calls) => calls.append({ row: 'r', columns: { 'f:q': 'x'.repeat(cellBytesMax - 23) } }),
    ErrorCode.tooLarge,
  ),
]

/** Timestamps and TTLs in every place that takes one. */
function numberRefusals(): Refusal[] {
  const timestamps = [-1, -1n, 1.5, NaN, Infinity, 2 ** 53, 2n ** 63n, '1', null, [], {}]
  const ttls = [-1, 0, 1.5, NaN, Infinity, 2 ** 48, '1', null, [], 5n]
  const cells = { 'f:q': 'v' }
  const q = { family: 'f', qualifier: 'q' }
  const refusals: Refusal[] = []
  for (const value of timestamps) {
    const timestamp = wrong<number>(value)
    const places: [string, Call][] = [
      ['put', (calls) => calls.put({ row: 'r', cells, timestamp })],
      ['value', (calls) => calls.put({ row: 'r', cells: { 'f:q': { value: 'v', timestamp } } })],
      ['cell', (calls) => calls.put({ row: 'r', cells: [{ column: 'f:q', timestamp }] })],
      ['delete', (calls) => calls.delete({ row: 'r', timestamp })],
      ['family', (calls) => calls.delete({ row: 'r', families: [{ family: 'f', timestamp }] })],
      [
        'family version',
        (calls) => calls.delete({ row: 'r', familyVersions: [{ family: 'f', timestamp }] }),
      ],
      ['column', (calls) => calls.delete({ row: 'r', columns: [{ ...q, timestamp }] })],
      ['version', (calls) => calls.delete({ row: 'r', columnVersions: [{ ...q, timestamp }] })],
      ['increment', (calls) => calls.increment({ row: 'r', columns: { 'f:n': 1 }, timestamp })],
      ['append', (calls) => calls.append({ row: 'r', columns: { 'f:x': 'v' }, timestamp })],
    ]
    for (const [name, call] of places) {
      refusals.push(refused(`timestamp ${describe(value)} of a ${name}`, call))
    }
  }
  for (const value of ttls) {
    const ttlMilliseconds = wrong<number>(value)
    const what = `ttl ${describe(value)}`
    refusals.push(
      refused(`${what} of a put`, (calls) => calls.put({ row: 'r', cells, ttlMilliseconds })),
      refused(`${what} of an increment`, (calls) => {
        return calls.increment({ row: 'r', columns: { 'f:n': 1 }, ttlMilliseconds })
      }),
      refused(`${what} of an append`, (calls) => {
        return calls.append({ row: 'r', columns: { 'f:x': 'v' }, ttlMilliseconds })
      }),
    )
  }
  return refusals
}

function deleteRefusals(): Refusal[] {
  const members = ['families', 'familyVersions', 'columns', 'columnVersions']
  return members.flatMap((member) => [
    ...wrongValues('array').map(([type, value]) => {
      return refused(`delete with ${member} that is a ${type}`, (calls) => {
        return calls.delete(wrong({ row: 'r', [member]: value }))
      })
    }),
    ...wrongValues('string').map(([type, value]) => {
      return refused(`delete with a ${type} in ${member}`, (calls) => {
        return calls.delete(wrong({ row: 'r', [member]: [value] }))
      })
    }),
    refused(
      `delete with an unknown family in ${member}`,
      (calls) => {
        const column = member.startsWith('columns') || member === 'columnVersions'
        const target = { family: 'g', ...(column && { qualifier: 'q' }), timestamp: 1 }
        return calls.delete(wrong({ row: 'r', families: ['f'], [member]: [target] }))
      },
      noFamily,
    ),
  ])
}

function updateRefusals(): Refusal[] {
  const amounts = [1.5, NaN, Infinity, 2 ** 53, 2n ** 63n, '1', null, [], {}, true]
  return [
    ...amounts.map((amount) => {
      return refused(`increment by ${describe(amount)}`, (calls) => {
        return calls.increment({ row: 'r', columns: { 'f:m': 1, 'f:n': wrong(amount) } })
      })
    }),
    ...wrongValues('string').map(([type, value]) => {
      return refused(`append of a ${type}`, (calls) => {
        return calls.append({ row: 'r', columns: { 'f:a': 'x', 'f:q': wrong(value) } })
      })
    }),
    ...wrongValues('object', 'array').flatMap(([type, value]) => [
      refused(`increment of columns that are a ${type}`, (calls) => {
        return calls.increment({ row: 'r', columns: wrong(value) })
      }),
      refused(`append to columns that are a ${type}`, (calls) => {
        return calls.append({ row: 'r', columns: wrong(value) })
      }),
    ]),
    refused('increment of nothing', (calls) => calls.increment({ row: 'r', columns: {} })),
    refused('append to nothing', (calls) => calls.append({ row: 'r', columns: [] })),
    refused('increment of a family', (calls) => calls.increment({ row: 'r', columns: { f: 1 } })),
    refused(
      'increment of an unknown family',
      (calls) => calls.increment({ row: 'r', columns: { 'f:n': 1, 'g:n': 1 } }),
      noFamily,
    ),
    refused(
      'increment of a value that is no counter',
      (calls) => calls.increment({ row: 'r', columns: { 'f:n': 1, 'f:q': 1 } }),
      ErrorCode.notACounter,
    ),
    refused('increment with an inverted time range', (calls) => {
      return calls.increment({ row: 'r', columns: { 'f:n': 1 }, timeRange: [2, 1] })
    }),
  ]
}

const put = { put: { cells: { 'f:q': 'new' } } }

function checkRefusals(): Refusal[] {
  const conditions: [string, object][] = [
    ['no condition', { column: 'f:q' }],
    ['two conditions', { column: 'f:q', equals: 'v', notExists: true }],
    ['a value without operator', { column: 'f:q', value: 'v' }],
    ['no column', { equals: 'v' }],
    ['a family as column', { column: 'f', equals: 'v' }],
    ['notExists false', { column: 'f:q', notExists: false }],
    ['an unknown operator', { column: 'f:q', operator: 'NO_OP', value: 'v' }],
    ['an inverted time range', { column: 'f:q', equals: 'v', timeRange: [2, 1] }],
    ['an expected number', { column: 'f:q', equals: 5 }],
    ['an expected object', { column: 'f:q', operator: 'EQUAL', value: {} }],
    ['a filter that is none', { filter: {} }],
  ]
  const actions: [string, object][] = [
    ['no member', {}],
    ['two members', { ...put, delete: {} }],
    ['an unknown member', { replace: {} }],
    ['no mutations', { mutations: [] }],
    ['a mutation with two members', { mutations: [{ ...put, append: { columns: {} } }] }],
    ['mutations and a member', { mutations: [put], ...put }],
    ['a put without cells', { put: { cells: {} } }],
    ['a put that is null', { put: null }],
  ]
  return [
    ...conditions.map(([what, condition]) => {
      return refused(`check with ${what}`, (calls) => {
        return calls.checkAndMutate(wrong({ row: 'r', ...condition }), put)
      })
    }),
    ...actions.flatMap(([what, action]) => {
      return [true, false].map((holds) => {
        const condition = holds ? { equals: 'v' } : { equals: 'other' }
        return refused(`action with ${what}, the check ${holds}`, (calls) => {
          return calls.checkAndMutate({ row: 'r', column: 'f:q', ...condition }, wrong(action))
        })
      })
    }),
    refused(
      'check of an unknown family',
      (calls) => calls.checkAndMutate({ row: 'r', column: 'g:q', equals: 'v' }, put),
      noFamily,
    ),
  ]
}

function mutateRowRefusals(): Refusal[] {
  const wrongRow = { put: { row: 's', cells: { 'f:q': 'v' } } }
  return [
    refused('mutateRow of nothing', (calls) => calls.mutateRow({ row: 'r', mutations: [] })),
    refused('mutation with two members', (calls) => {
      return calls.mutateRow({ row: 'r', mutations: [put, wrong({ ...put, delete: {} })] })
    }),
    refused('mutation with an unknown member', (calls) => {
      return calls.mutateRow({ row: 'r', mutations: [put, wrong({ get: {} })] })
    }),
    refused(
      'mutation of another row',
      (calls) => calls.mutateRow({ row: 'r', mutations: [put, wrongRow] }),
      ErrorCode.wrongRow,
    ),
    ...wrongValues('string').map(([type, value]) => {
      const mutation = { put: { row: wrong<string>(value), cells: { 'f:q': 'v' } } }
      return {
        ...refused(`mutation of a row that is a ${type}`, (calls) => {
          return calls.mutateRow({ row: 'r', mutations: [put, mutation] })
        }),
      }
    }),
    ...[5, null, {}, 'NO_WAL', 'sync_wal', true].map((value) => {
      const durability = wrong<'SYNC_WAL'>(value)
      return refused(`durability ${describe(value)}`, async (calls) => {
        await calls.put({ row: 'r', cells: { 'f:q': 'v' }, durability })
      })
    }),
    ...['delete', 'increment', 'append', 'mutateRow'].map((name) => {
      return refused(`unknown durability of ${name}`, (calls) => {
        const operation = {
          row: 'r',
          durability: 'NONE',
          ...(name === 'mutateRow' && { mutations: [put] }),
          ...(name === 'increment' && { columns: { 'f:n': 1 } }),
          ...(name === 'append' && { columns: { 'f:q': 'v' } }),
        }
        return calls[name as 'delete'](wrong(operation))
      })
    }),
  ]
}

const refusals: readonly Refusal[] = [
  ...rowRefusals(),
  ...shapeRefusals(),
  ...listRefusals(),
  ...readRefusals(),
  ...combinations,
  ...puts,
  ...numberRefusals(),
  ...deleteRefusals(),
  ...updateRefusals(),
  ...checkRefusals(),
  ...mutateRowRefusals(),
]

function describe(value: unknown): string {
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'symbol' || typeof value === 'function') return typeof value
  if (typeof value === 'string') return value.length > 20 ? 'of too many bytes' : `'${value}'`
  if (typeof value === 'number') return String(value)
  return JSON.stringify(value)
}

/** The code of what a call fails with. */
async function codeOf(call: () => Promise<unknown>): Promise<string> {
  try {
    await call()
  } catch (error) {
    return error instanceof CellarError ? error.code : `not a CellarError: ${String(error)}`
  }
  return 'no error'
}

async function contents(calls: TableCalls): Promise<string[]> {
  const results = await calls.scan({ raw: true, versions: 'all' })
  return results.map((result) => showResult(plainResult(result)))
}

async function openTable(): Promise<{ test: TestDatabase; table: EmbeddedTable }> {
  const test = await TestDatabase.open({ options: { cellBytesMax } })
  const table = await test.database.createTable('table', { families: { f: { versions: 3 } } })
  await table.put({ row: 'r', cells: { 'f:q': 'v' }, timestamp: 1 })
  return { test, table }
}

const scanOperation: readonly [string, (calls: TableCalls) => Promise<unknown>] = [
  'scan',
  (calls) => calls.scan(),
]

for (const form of ['async', 'sync'] satisfies CallForm[]) {
  void t.test(`wrong input is refused with a stable code, ${form} forms`, async (t) => {
    const { test, table } = await openTable()
    const calls = callsOf(table, form)
    let before = (await contents(calls)).join('\n')
    for (const { what, code, call } of refusals) {
      const found = await codeOf(() => call(calls))
      const after = (await contents(calls)).join('\n')
      t.equal(after === before ? found : `${found}, and the table was changed`, code, what)
      before = after
    }
    await calls.put({ row: 'r', cells: { 'f:q': 'v2' }, timestamp: 3_000_000 })
    t.equal((await calls.get({ row: 'r' })).value('f:q')?.toString(), 'v2', 'good input works on')
    await test.close()
  })

  void t.test(`a batch reports wrong operations by position, ${form} forms`, async (t) => {
    const { test, table } = await openTable()
    const calls = callsOf(table, form)
    const operations = [
      { put: { row: '', cells: { 'f:q': 'v' } } },
      null,
      5,
      'text',
      {},
      { get: { row: 'r' }, put: { row: 'r', cells: { 'f:q': 'v' } } },
      { scan: {} },
      { get: null },
      { checkAndMutate: null },
      { checkAndMutate: {} },
      { get: { row: 'r' } },
    ]
    const before = await contents(calls)
    const results = await calls.batch(wrong<BatchOperation[]>(operations))
    const codes = results.map((result) => (result.ok ? 'ok' : result.error.code))
    t.same(codes, [...Array<string>(operations.length - 1).fill(invalid), 'ok'])
    t.same(await contents(calls), before, 'the table is unchanged')
    await test.close()
  })

  void t.test(`operations on a dropped table say so, ${form} forms`, async (t) => {
    const { test, table } = await openTable()
    const calls = callsOf(table, form)
    await test.database.dropTable('table')
    for (const [name, call] of [...rowOperations, scanOperation]) {
      t.equal(await codeOf(() => call(calls, 'r')), ErrorCode.tableNotFound, name)
    }
    await test.close()
  })

  void t.test(`operations on a closed database say so, ${form} forms`, async (t) => {
    const { test, table } = await openTable()
    const calls = callsOf(table, form)
    const snapshot = test.database.snapshot()
    await test.close()
    for (const [name, call] of [...rowOperations, scanOperation]) {
      t.equal(await codeOf(() => call(calls, 'r')), ErrorCode.closed, name)
    }
    t.equal(await codeOf(() => calls.get({ row: 'r', snapshot })), ErrorCode.closed, 'snapshot')
    snapshot.close()
  })

  void t.test(`a closed snapshot cannot be read, ${form} forms`, async (t) => {
    const { test, table } = await openTable()
    const calls = callsOf(table, form)
    const snapshot = test.database.snapshot()
    snapshot.close()
    snapshot.close()
    t.equal(await codeOf(() => calls.get({ row: 'r', snapshot })), ErrorCode.closed, 'get')
    t.equal(await codeOf(() => calls.scan({ snapshot })), ErrorCode.closed, 'scan')
    await test.close()
  })
}
