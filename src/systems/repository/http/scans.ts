/** Routes of scanners: scans that continue over several requests. */
import { repositoryError } from '../errors.js'
import { recordToJson, scanFromJson } from '../index.js'
import type { Call } from './call.js'
import { naming, queryCount, route, schemas, showing, type Route } from './declarations.js'

const opening: Partial<Route> = {
  needs: 'read',
  answers: { 201: 'begun', 503: 'too many scans' },
  query: naming,
  body: schemas.scan,
}
const continuing: Partial<Route> = {
  needs: 'read',
  answers: { 204: 'the end' },
  query: { batch: queryCount(1, 'most records'), ...showing },
}

/** Routes of scans, below each form of the addresses. */
export const scanRoutes: readonly Route[] = [
  route('post /scan', 'open scan', opening, openScan),
  route('get /scan/:scanner', 'next of scan', continuing, nextOfScan),
  route('delete /scan/:scanner', 'close scan', { needs: 'read' }, async (call) => {
    return call.manager.scanners.close(await ownToken(call), ownerOf(call))
  }),
]

async function openScan(call: Call): Promise<object> {
  const { table } = call
  const scan = scanFromJson(call.json, call.input)
  const token = await call.manager.scanners.open(table, scan, ownerOf(call))
  return call.created(token, { id: token })
}

/** GET of the next records; HEAD says whether the scan is there, and leaves it where it is. */
async function nextOfScan(call: Call): Promise<object | undefined> {
  const { scanners } = call.manager
  const token = await ownToken(call)
  if (call.request.method === 'HEAD') return call.empty(200)
  // The server may have other rules than the one that has opened the scan.
  scanFromJson(await scanners.scanOf(token, ownerOf(call)), call.input)
  const records = await scanners.next(token, call.number('batch'), ownerOf(call))
  if (records === undefined) return call.empty(204)
  return { results: records.map((record) => recordToJson(record, call.output)) }
}

function ownerOf({ principal }: Call): { readonly owner: string } {
  return { owner: principal.name }
}

/** The token in the address, if its scanner belongs to the table in the address. */
async function ownToken(call: Call): Promise<string> {
  const { table } = call
  const token = call.parameter('scanner')
  if ((await call.manager.scanners.tableOf(token, ownerOf(call))) === table) return token
  throw repositoryError('scannerNotFound', 'there is no such scanner')
}
