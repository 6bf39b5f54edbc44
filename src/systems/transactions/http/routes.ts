/**
 * The transaction manager over HTTP, under `/v1/transactions`, for processes that cannot run their
 * own manager. Each route is one call of the manager.
 *
 * Before the answer, a start and a checkpoint are made as durable as commits. The client outlives
 * this process. If its pointer were lost, its writes would appear as committed.
 */
import { CellarError, invalidArgument } from '../../../api/index.js'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import {
  Transaction,
  TransactionErrorCode,
  transactionToJson,
  type TransactionManager,
} from '../index.js'
import { pointerOf } from '../tephra/transaction-forms.js'
import { familiesText, family } from '../../../metrics/text.js'
import { addRoute } from '../../../http/operations.js'
import type { ServerSystem } from '../../../http/server-system.js'
import { finderOf, type Source } from '../../../http/source.js'
import { bodies, bodyOf, digits, snapshotJson } from './json.js'

/** The manager; undefined while another process leads. */
export type TransactionsSource = Source<TransactionManager>

/** The routes of a transaction manager, for a `CellarServer`. `ERR_INVALID_ARGUMENT`. */
export function transactionRoutes(source: TransactionsSource): ServerSystem {
  const find = finderOf(source, 'the manager of transactions', ['startShort', 'statistics'])
  return {
    name: 'transactions',
    register: (app) => register(app, find),
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

/** A call of the manager; without a result the status is 204. */
type Handler = (manager: TransactionManager, request: FastifyRequest) => unknown

function register(app: FastifyInstance, find: () => TransactionManager | undefined): void {
  const add = (
    route: `${'get' | 'post'} /${string}`,
    id: string,
    summary: string,
    call: Handler,
  ): void => {
    const [method, path] = route.split(' ')
    const answers = { [noContent.has(path) ? 204 : 200]: summary, ...refusals }
    const url = `/v1/transactions${path === '/' ? '' : path}`
    addRoute(app, method, url, { id, summary, answers }, async (request, reply) => {
      return (await call(managerOf(find), request)) ?? reply.code(204).send()
    })
  }
  add('post /', 'startTransaction', 'start a transaction', async (manager, request) => {
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
  })
  add('get /', 'readTransactions', 'numbers of the manager', (manager) => {
    const { lifetimeMilliseconds, writePointer } = manager
    return digits({ ...manager.statistics(), lifetimeMilliseconds, writePointer })
  })
  add('get /snapshot', 'readSnapshot', 'running and invalid transactions', (manager) => {
    return snapshotJson(manager.snapshot())
  })
  add('get /:id', 'readTransaction', 'the state of a transaction', (manager, request) => {
    return { state: manager.stateOf(idOf(request)) }
  })
  add('post /:id/can-commit', 'canCommit', 'check changes for conflicts', (manager, request) => {
    return manager.canCommit(named(request), bodyOf(request.body, bodies.changes).changes)
  })
  add('post /:id/commit', 'commit', 'commit', (manager, request) => {
    bodyOf(request.body, bodies.none)
    return manager.commit(named(request))
  })
  add('post /:id/abort', 'abort', 'abort', (manager, request) => {
    const transactionId = idOf(request)
    const body = bodyOf(request.body, bodies.abort)
    return manager.abort(new Transaction({ readPointer: 0n, transactionId, ...body }))
  })
  add('post /:id/invalidate', 'invalidate', 'invalidate', async (manager, request) => {
    bodyOf(request.body, bodies.none)
    return { invalidated: await manager.invalidate(idOf(request)) }
  })
  add('post /:id/checkpoint', 'checkpoint', 'begin a checkpoint', async (manager, request) => {
    bodyOf(request.body, bodies.none)
    const { writePointer } = await manager.checkpoint(named(request))
    await manager.persist()
    return digits({ writePointer })
  })
}

const noContent: ReadonlySet<string> = new Set(['/:id/can-commit', '/:id/commit', '/:id/abort'])

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
