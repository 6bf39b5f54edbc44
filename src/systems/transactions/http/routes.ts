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
import { addRoutes, type Route } from '../../../http/operations.js'
import { finderOf, type Source, type ServerSystem } from '../../../http/server-system.js'
import { bodies, bodyOf, digits, snapshotJson } from './json.js'

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

/** A call of the manager. */
interface Call {
  readonly manager: TransactionManager
  readonly request: FastifyRequest
}

function route(at: string, id: string, summary: string, run: Route<Call>['run']): Route<Call> {
  return { at, id, summary, answers: { 200: summary, ...refusals }, run }
}

/** A route without a result. */
function order(at: string, id: string, summary: string, run: Route<Call>['run']): Route<Call> {
  return { at, id, summary, answers: { 204: summary, ...refusals }, run }
}

const routes: readonly Route<Call>[] = [
  route('post ', 'startTransaction', 'start a transaction', async ({ manager, request }) => {
    const { type, client, timeoutMilliseconds } = bodyOf(request.body, bodies.start)
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
  route('get ', 'readTransactions', 'numbers of the manager', ({ manager }) => {
    const { lifetimeMilliseconds, writePointer } = manager
    return digits({ ...manager.statistics(), lifetimeMilliseconds, writePointer })
  }),
  route('get /snapshot', 'readSnapshot', 'running and invalid transactions', ({ manager }) => {
    return snapshotJson(manager.snapshot())
  }),
  route('get /:id', 'readTransaction', 'the state of a transaction', ({ manager, request }) => {
    return { state: manager.stateOf(idOf(request)) }
  }),
  order('post /:id/can-commit', 'canCommit', 'check changes for conflicts', (call) => {
    const { changes } = bodyOf(call.request.body, bodies.changes)
    return call.manager.canCommit(named(call.request), changes)
  }),
  order('post /:id/commit', 'commit', 'commit', ({ manager, request }) => {
    bodyOf(request.body, bodies.none)
    return manager.commit(named(request))
  }),
  order('post /:id/abort', 'abort', 'abort', ({ manager, request }) => {
    const transactionId = idOf(request)
    const body = bodyOf(request.body, bodies.abort)
    return manager.abort(new Transaction({ readPointer: 0n, transactionId, ...body }))
  }),
  route('post /:id/invalidate', 'invalidate', 'invalidate', async ({ manager, request }) => {
    bodyOf(request.body, bodies.none)
    return { invalidated: await manager.invalidate(idOf(request)) }
  }),
  route('post /:id/checkpoint', 'checkpoint', 'begin a checkpoint', async (call) => {
    const { manager, request } = call
    bodyOf(request.body, bodies.none)
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
