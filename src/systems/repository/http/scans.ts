/** Routes of scanners: scans that continue over several requests. */
import type { FastifyReply } from 'fastify'
import { recordToJson, RepositoryError, RepositoryErrorCode, scanFromJson } from '../index.js'
import type { Call } from './call.js'
import { naming, queryCount, route, schemas, showing, type Route } from './declarations.js'

/** Routes of scans, below each form of the addresses. */
export const scanRoutes: readonly Route[] = [
  route(
    'post /scan',
    'open scan',
    { answers: { 201: 'begun', 503: 'too many scans' }, query: naming, body: schemas.scan },
    openScan,
  ),
  route(
    'get /scan/:scanner',
    'next of scan',
    { answers: { 204: 'the end' }, query: { batch: queryCount(1, 'most records'), ...showing } },
    nextOfScan,
  ),
  route('delete /scan/:scanner', 'close scan', {}, async (call) => {
    return call.manager.scanners.close(await ownToken(call), ownerOf(call))
  }),
]

/** POST of a scan. */
async function openScan(call: Call): Promise<FastifyReply> {
  const table = call.readable
  const scan = scanFromJson(call.json, call.input)
  const token = await call.manager.scanners.open(table, scan, ownerOf(call))
  const path = call.request.url.split('?')[0]
  return call.reply.code(201).header('location', `${path}/${token}`).send({ id: token })
}

/** GET of the next records. */
async function nextOfScan(call: Call): Promise<FastifyReply> {
  const { scanners } = call.manager
  const token = await ownToken(call)
  const records = await scanners.next(token, call.number('batch'), ownerOf(call))
  if (records === undefined) return call.reply.code(204).send()
  return call.reply.send({ results: records.map((record) => recordToJson(record, call.output)) })
}

function ownerOf({ principal }: Call): { readonly owner: string } {
  return { owner: principal.name }
}

/** The token in the address, if its scanner belongs to the table in the address. */
async function ownToken(call: Call): Promise<string> {
  const table = call.readable
  const token = call.parameter('scanner')
  if ((await call.manager.scanners.tableOf(token, ownerOf(call))) === table) return token
  throw new RepositoryError(RepositoryErrorCode.scannerNotFound, 'there is no such scanner')
}
