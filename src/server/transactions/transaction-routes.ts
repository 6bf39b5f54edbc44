/**
 * The transaction manager over HTTP, under `/v1/transactions`, for processes that cannot run their
 * own manager. Each route is one call of the manager.
 *
 * Before the answer, a start and a checkpoint are made as durable as commits. The client outlives
 * this process. If its pointer were lost, its writes would appear as committed.
 */
import { CellarError } from '../../api/index.js'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import {
  Transaction,
  TransactionErrorCode,
  transactionToJson,
  type TransactionManager,
} from '../../systems/transactions/index.js'
import { pointerOf } from '../../systems/transactions/tephra/transaction-forms.js'
import type { ServerSystem } from '../server-system.js'
import { finderOf, type Source } from '../source.js'
import {
  checkNoBody,
  parseAbort,
  parseChanges,
  parseStart,
  snapshotJson,
} from './transaction-json.js'

const base = '/v1/transactions'

/** The manager; undefined while another process leads. */
export type TransactionsSource = Source<TransactionManager>

/** The routes of a transaction manager, for a `CellarServer`. `ERR_INVALID_ARGUMENT`. */
export function transactionRoutes(source: TransactionsSource): ServerSystem {
  const find = finderOf(source, 'the manager of transactions', ['startShort', 'statistics'])
  return {
    name: 'transactions',
    paths: paths(),
    register: (app) => new Routes(find).register(app),
    metrics: () => metricsOf(find()),
    health: () => {
      const manager = find()
      if (manager === undefined) return { status: 'standby' }
      return { status: manager.isOpen ? 'ok' : 'failed' }
    },
  }
}

class Routes {
  readonly #find: () => TransactionManager | undefined

  constructor(find: () => TransactionManager | undefined) {
    this.#find = find
  }

  register(app: FastifyInstance): void {
    app.post(base, async (request) => {
      const { type, client, timeoutMilliseconds } = parseStart(request.body)
      const manager = this.#manager()
      const transaction = await (type === 'LONG'
        ? manager.startLong({ client })
        : manager.startShort({ client, timeoutMilliseconds }))
      await manager.persist()
      const { lifetimeMilliseconds } = manager
      return { transaction: transactionToJson(transaction), lifetimeMilliseconds }
    })
    app.get(base, async () => {
      const manager = this.#manager()
      const { lifetimeMilliseconds, writePointer } = manager
      return { ...manager.statistics(), lifetimeMilliseconds, writePointer: String(writePointer) }
    })
    app.get(`${base}/snapshot`, async () => snapshotJson(this.#manager().snapshot()))
    app.get(`${base}/:id`, async (request) => ({ state: this.#manager().stateOf(idOf(request)) }))
    app.post(`${base}/:id/can-commit`, async (request, reply) => {
      await this.#manager().canCommit(named(request), parseChanges(request.body))
      return reply.code(204).send()
    })
    app.post(`${base}/:id/commit`, async (request, reply) => {
      checkNoBody(request.body)
      await this.#manager().commit(named(request))
      return reply.code(204).send()
    })
    app.post(`${base}/:id/abort`, async (request, reply) => {
      const transactionId = idOf(request)
      const ended = new Transaction({ readPointer: 0n, transactionId, ...parseAbort(request.body) })
      await this.#manager().abort(ended)
      return reply.code(204).send()
    })
    app.post(`${base}/:id/invalidate`, async (request) => {
      checkNoBody(request.body)
      return { invalidated: await this.#manager().invalidate(idOf(request)) }
    })
    app.post(`${base}/:id/checkpoint`, async (request) => {
      checkNoBody(request.body)
      const manager = this.#manager()
      const { writePointer } = await manager.checkpoint(named(request))
      await manager.persist()
      return { writePointer: String(writePointer) }
    })
  }

  #manager(): TransactionManager {
    const manager = this.#find()
    if (manager !== undefined) return manager
    const message = 'another process has the transaction manager'
    throw new CellarError(TransactionErrorCode.unavailable, message)
  }
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
  const lines: string[] = []
  for (const [name, value] of Object.entries(gauges)) {
    const full = `cellar_transactions_${name}`
    lines.push(`# TYPE ${full} gauge`, `${full} ${value}`)
  }
  for (const [name, value] of Object.entries(counters)) {
    const full = `cellar_transactions_${name}_total`
    lines.push(`# TYPE ${full} counter`, `${full} ${value}`)
  }
  return `${lines.join('\n')}\n`
}

function paths(): Record<string, unknown> {
  const answer = (description: string, status = 200): unknown => ({
    responses: {
      [status]: { description },
      400: { description: 'ERR_INVALID_ARGUMENT' },
      409: { description: 'ERR_TRANSACTION_CONFLICT, ERR_TRANSACTION_NOT_IN_PROGRESS' },
      503: { description: 'ERR_TRANSACTIONS_UNAVAILABLE' },
    },
  })
  return {
    [base]: {
      post: answer('the transaction that was started'),
      get: answer('numbers of the manager'),
    },
    [`${base}/snapshot`]: { get: answer('running and invalid transactions') },
    [`${base}/{id}`]: { get: answer('running, committing, invalid, ended or unknown') },
    [`${base}/{id}/can-commit`]: { post: answer('the changes conflict with nothing', 204) },
    [`${base}/{id}/commit`]: { post: answer('committed', 204) },
    [`${base}/{id}/abort`]: { post: answer('aborted', 204) },
    [`${base}/{id}/invalidate`]: { post: answer('whether it was in progress') },
    [`${base}/{id}/checkpoint`]: { post: answer('the new write pointer') },
  }
}
