/** The files of secrets that `cellar serve` reads: token, principals, certificate and key. */
import { open, readFile } from 'node:fs/promises'
import { checked, declareOptions, invalidArgument } from '../api/index.js'
import type { Principal, TlsOptions } from '../server/index.js'
import { tokenOf } from './messaging-cli.js'

/** The files that the command line names. */
export interface SecretFiles {
  readonly tokenFile?: string
  readonly access?: string
  readonly tlsCertificate?: string
  readonly tlsKey?: string
}

/** The contents of the files. */
export interface Secrets {
  readonly token: string | undefined
  readonly principals: readonly Principal[]
  readonly tls: TlsOptions | undefined
}

/** Called with a warning about a file. */
type Warn = (problem: string) => void

/** Reads the files. `warn` is called for each secret that other users can read. */
export async function readSecrets(files: SecretFiles, warn: Warn): Promise<Secrets> {
  return {
    principals: await principalsOf(files, warn),
    token: await tokenOf(files, (file) => readSecret(file, warn)),
    tls: await tlsOf(files, warn),
  }
}

/** The bits of a mode that let the group or others read, write or execute. */
const othersMask = 0o077

/** The text of a file that only its owner should be able to read. */
async function readSecret(file: string, warn: Warn): Promise<string> {
  const handle = await open(file)
  try {
    const stat = await handle.stat()
    // Windows has no modes, and a pipe belongs to the process that wrote it.
    if (process.platform !== 'win32' && stat.isFile() && (stat.mode & othersMask) !== 0) {
      const mode = (stat.mode & 0o777).toString(8).padStart(4, '0')
      warn(`${file} has the mode ${mode}, so others may read a secret; see chmod 600`)
    }
    return await handle.readFile('utf8')
  } finally {
    await handle.close()
  }
}

const accessOptions = declareOptions('the file of --access', {
  principals: checked((given: readonly Principal[]) => given),
})

/** The principals of the file of `--access`: an array, or `{ "principals": […] }`. */
async function principalsOf({ access }: SecretFiles, warn: Warn): Promise<readonly Principal[]> {
  if (access === undefined) return []
  let json: unknown
  try {
    json = JSON.parse(await readSecret(access, warn))
  } catch (cause) {
    throw invalidArgument(`${access}: ${(cause as Error).message}`)
  }
  const isObject = typeof json === 'object' && json !== null && !Array.isArray(json)
  const principals = isObject ? accessOptions.read(json as object).principals : json
  if (Array.isArray(principals)) return principals as readonly Principal[]
  throw invalidArgument(`${access} has no array of principals`)
}

async function tlsOf(
  { tlsCertificate, tlsKey }: SecretFiles,
  warn: Warn,
): Promise<TlsOptions | undefined> {
  if (tlsCertificate === undefined && tlsKey === undefined) return undefined
  if (tlsCertificate === undefined || tlsKey === undefined) {
    throw invalidArgument('--tls-certificate and --tls-key belong together')
  }
  const certificate = await readFile(tlsCertificate, 'utf8')
  return { certificate, key: await readSecret(tlsKey, warn) }
}
