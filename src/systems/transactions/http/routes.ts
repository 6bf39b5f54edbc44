/**
 * The transaction manager over HTTP, under `/v1/transactions`, for processes that cannot run their
 * own manager. Each route is one call of the manager.
 *
 * Before the answer, a start and a checkpoint are made as durable as commits. The client outlives
 * this process. If its pointer were lost, its writes would appear as committed.
 */
import { CellarError, invalidArgument } from '../../../api/index.js'
import type { FastifyRequest } from 'fastify'
import {
  Transaction,
  TransactionErrorCode,
  transactionToJson,
  type TransactionManager,
} from '../index.js'
import { pointerOf } from '../tephra/transaction-forms.js'
import { familiesText, family } from '../../../metrics/text.js'
import { addRoutes, readBody, type JsonBody, type Route } from '../../../http/operations.js'
import { finderOf, type Source, type ServerSystem } from '../../../http/server-system.js'
import { bodies, digits, snapshotJson } from './json.js'

/** The manager; undefined while another process leads. */
export type TransactionsSource = Source<TransactionManager>

/** The routes of a transaction manager, for a `CellarServer`. `ERR_INVALID_ARGUMENT`. */
export function transactionRoutes(source: TransactionsSource): ServerSystem {
  const find = finderOf(source, 'the manager of transactions', ['startShort', 'statistics'])
  return {
    name: 'transactions',
    register: (app) => {
      addRoutes(app, '/v1/transactions', routes, (request) => ({
        manager: managerOf(find),
        request,
      }))
    },
    metrics: () => metricsOf(find()),
    health: () => {
      const manager = find()
      if (manager === undefined) return { status: 'standby' }
      return { status: manager.isOpen ? 'ok' : 'failed' }
    },
  }
}

const refusals = {
  400: 'ERR_INVALID_ARGUMENT',
  409: 'ERR_TRANSACTION_CONFLICT, ERR_TRANSACTION_NOT_IN_PROGRESS',
  503: 'ERR_TRANSACTIONS_UNAVAILABLE',
}

interface Call {
  readonly manager: TransactionManager
  readonly request: FastifyRequest
}

function get(path: string, id: string, summary: string, run: Route<Call>['run']): Route<Call> {
  return { at: `get ${path}`, id, summary, answers: { 200: summary, ...refusals }, run }
}

/** Makes a POST with a declared body, which `run` gets. */
function post<Body>(
  path: string,
  { id, summary, status = 200 }: { id: string; summary: string; status?: 200 | 204 },
  body: JsonBody<Body>,
  run: (call: Call, body: Body) => unknown,
): Route<Call> {
  const answers = { [status]: summary, ...refusals }
  const read = (call: Call): unknown => run(call, readBody(call.request, body))
  return { at: `post ${path}`, id, summary, answers, body: body.schema, run: read }
}

const start = { id: 'startTransaction', summary: 'start a transaction' }
const canCommit = { id: 'canCommit', summary: 'check changes for conflicts', status: 204 } as const
const commit = { id: 'commit', summary: 'commit', status: 204 } as const
const abort = { id: 'abort', summary: 'abort', status: 204 } as const
const invalidate = { id: 'invalidate', summary: 'invalidate' }
const checkpoint = { id: 'checkpoint', summary: 'begin a checkpoint' }

const routes: readonly Route<Call>[] = [
  post('', start, bodies.start, async ({ manager }, { type, client, timeoutMilliseconds }) => {
    if (type === 'LONG' && timeoutMilliseconds !== undefined) {
      throw invalidArgument('a LONG transaction has no timeoutMilliseconds')
    }
    const transaction = await (type === 'LONG'
      ? manager.startLong({ client })
      : manager.startShort({ client, timeoutMilliseconds }))
    await manager.persist()
    const { lifetimeMilliseconds } = manager
    return { transaction: transactionToJson(transaction), lifetimeMilliseconds }
  }),
  get('', 'readTransactions', 'numbers of the manager', ({ manager }) => {
    const { lifetimeMilliseconds, writePointer } = manager
    return digits({ ...manager.statistics(), lifetimeMilliseconds, writePointer })
  }),
  get('/snapshot', 'readSnapshot', 'running and invalid transactions', ({ manager }) => {
    return snapshotJson(manager.snapshot())
  }),
  get('/:id', 'readTransaction', 'the state of a transaction', ({ manager, request }) => {
    return { state: manager.stateOf(idOf(request)) }
  }),
  post('/:id/can-commit', canCommit, bodies.changes, ({ manager, request }, { changes }) => {
    return manager.canCommit(named(request), changes)
  }),
  post('/:id/commit', commit, bodies.none, ({ manager, request }) => {
    return manager.commit(named(request))
  }),
  post('/:id/abort', abort, bodies.abort, ({ manager, request }, body) => {
    return manager.abort(
      new Transaction({ readPointer: 0n, transactionId: idOf(request), ...body }),
    )
  }),
  post('/:id/invalidate', invalidate, bodies.none, async ({ manager, request }) => {
    return { invalidated: await manager.invalidate(idOf(request)) }
  }),
  post('/:id/checkpoint', checkpoint, bodies.none, async ({ manager, request }) => {
    const { writePointer } = await manager.checkpoint(named(request))
    await manager.persist()
    return digits({ writePointer })
  }),
]

function managerOf(find: () => TransactionManager | undefined): TransactionManager {
  const manager = find()
  if (manager !== undefined) return manager
  const message = 'another process has the transaction manager'
  throw new CellarError(TransactionErrorCode.unavailable, message)
}

function idOf(request: FastifyRequest): bigint {
  return pointerOf((request.params as { id: string }).id, 'the id of a transaction')
}

/** The fields of a transaction that the manager reads. */
function named(request: FastifyRequest): Transaction {
  return new Transaction({ readPointer: 0n, transactionId: idOf(request) })
}

function metricsOf(manager: TransactionManager | undefined): string {
  if (manager === undefined) return ''
  const { inProgress, invalid, committing, committedSets, ...counters } = manager.statistics()
  const gauges = { running: inProgress, invalid, committing, change_sets: committedSets }
  return familiesText('cellar_transactions_', [
    ...Object.entries(gauges).map(([name, value]) => family('gauge', name, value)),
    ...Object.entries(counters).map(([name, value]) => family('counter', `${name}_total`, value)),
  ])
}
