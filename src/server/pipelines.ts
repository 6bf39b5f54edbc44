/**
 * The end of pipelined requests. A client may send further requests before it has the answer to the
 * first; all of them run at once, and their answers wait for their turn. If the connection breaks,
 * Node closes only the answer whose turn it is. The others would never be closed: their memory,
 * their readers and their counts would stay for ever.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Closes the answers that wait for their turn when their connection closes. */
export function closeWaitingAnswers(server: Server): void {
  const answers = new WeakMap<Socket, Set<ServerResponse>>()
  const openOf = (socket: Socket): Set<ServerResponse> => {
    const known = answers.get(socket)
    if (known !== undefined) return known
    const open = new Set<ServerResponse>()
    answers.set(socket, open)
    socket.once('close', () => {
      // One that has the socket is closed by Node.
      for (const answer of open) if (answer.socket === null) close(answer)
    })
    return open
  }
  server.prependListener('request', ({ socket }: IncomingMessage, answer: ServerResponse) => {
    const open = openOf(socket)
    open.add(answer)
    answer.once('close', () => open.delete(answer))
  })
}

/** As Node does for the answer whose turn it is. */
function close(answer: ServerResponse): void {
  answer.destroy()
  answer.emit('close')
}
