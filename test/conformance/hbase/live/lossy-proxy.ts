/** A proxy between client and gateway that loses answers. */
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

/** Forwards bytes to a port of 127.0.0.1, and loses the answers that `losesAnswer` names. */
export class LossyProxy {
  /** Decides for each message of the client; a lost answer ends the connection. */
  losesAnswer: (message: Buffer) => boolean = () => false
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(port: number) {
    this.#server = createServer((client) => this.#forward(client, port))
  }

  static async start(port: number): Promise<LossyProxy> {
    const proxy = new LossyProxy(port)
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve))
    return proxy
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #forward(client: Socket, port: number): void {
    const gateway = connect({ host: '127.0.0.1', port })
    const end = (): void => {
      client.destroy()
      gateway.destroy()
    }
    for (const socket of [client, gateway]) {
      this.#sockets.add(socket)
      socket.on('error', end)
      socket.on('close', () => {
        this.#sockets.delete(socket)
        end()
      })
    }
    let isLost = false
    client.on('data', (bytes: Buffer) => {
      isLost = this.losesAnswer(bytes)
      gateway.write(bytes)
    })
    gateway.on('data', (bytes: Buffer) => {
      if (isLost) end()
      else client.write(bytes)
    })
  }
}
