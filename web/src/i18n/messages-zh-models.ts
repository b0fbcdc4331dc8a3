import type { MessageTable, ModelMessages, ProviderAnswer } from 'reprise/client';

const answered =
  (what: string) =>
  ({ provider, text }: ProviderAnswer): string =>
    text === '' ? `${provider}：${what}` : `${what}（${provider}：${text}）`;

export const CHINESE_MODELS: Pick<MessageTable, keyof ModelMessages> = {
  'model.authFailed': answered('模型服务拒绝了密钥'),
  'model.noCredit': answered('模型服务的账户余额不足'),
  'model.notFound': answered('模型服务没有此模型'),
  'model.rateLimited': answered('模型服务要求放慢速度，请稍后重试'),
  'model.tooLong': answered('请求超出模型的上下文'),
  'model.overloaded': answered('模型服务过载或无法连接'),
  'model.failed': answered('模型调用失败'),
  'model.refused': ({ provider, text }) =>
    `模型服务拒绝了此对话${text === '' ? '' : `（${provider}：${text}）`}。请用 /undo 撤销上一条消息，或用 /model 选择其他模型。`,
  'model.silent': ({ provider, seconds }) => `模型在 ${seconds} 秒内没有任何回应（${provider}），请重试。`,
  'model.stopped': ({ provider }) => `调用方停止了模型调用（${provider}）。`,
  'model.incomplete': ({ provider }) => `回答尚未完成，数据流就结束了（${provider}），请重试。`,
  'model.brokeOff': ({ provider }) => `模型的回答中途断开（${provider}），请重试。`,
  'model.redirect': ({ from, to, status }) =>
    `${from} 重定向到${to === null ? '无效的地址' : ` ${to}`}（HTTP ${status}）；API 密钥和对话没有发送到那里。如果模型服务已迁移，请设置 baseURL。`,
  'model.noRoom': ({ model }) =>
    `${model} 的上下文窗口没有空间容纳回答。请减少发送的内容，或用 /model 选择窗口更大的模型。`,
  'model.noKey': ({ model, variable }) =>
    `${model} 没有 API 密钥。${variable === null ? '请在创建模型时提供 apiKey。' : `请设置 ${variable}，或用 --model 选择其他模型。`}`,
  'model.noAddress': ({ model, variable }) =>
    `${model} 需要其服务器的地址。${variable === null ? '请在创建模型时提供 baseURL，例如 Ollama 为 http://127.0.0.1:11434/v1。' : `请设置 ${variable}，或用 --model 选择其他模型。`}`,
  'model.noProvider': ({ model, forms }) => `没有提供商有名为 ${model} 的模型。可用：${forms.join('、')}。`,
  'model.wrongFormat': ({ model, family }) =>
    `${model} 不能使用“${family}”的请求格式。请使用 anthropic:<id> 模型，或其他格式。`,
  'model.sdkVersion': ({ version }) =>
    `此 AI SDK 模型的规范版本为 ${version}，需要“v2”、“v3”或“v4”。请使用 AI SDK 5、6 或 7 的提供商软件包。`,
  'model.scriptUnmet': ({ complaints, stepsLeft }) =>
    `脚本模型的使用与脚本不符：${[...complaints, ...(stepsLeft === 0 ? [] : [`脚本还剩 ${stepsLeft} 步`])].join('；')}`,
  'model.noneToChoose': ({ model }) =>
    `模型不能是 ${model}：这里没有可选择的模型。请通过 models 或 loadModel 提供。`,
  'window.tooSmall': ({ model, tokens, min }) =>
    `${model} 的上下文窗口只有 ${tokens} 词元，至少需要 ${min}。请选择窗口更大的模型，或提高 contextTokens。`,
  'summary.empty': () => '模型返回的摘要为空。',
  'summary.tooLong': ({ maxTokens }) => `摘要远远超过要求的 ${maxTokens} 词元。`,
  'summary.slow': ({ seconds }) =>
    `模型没有在 ${seconds} 秒内完成摘要。请提高 compaction.summaryTimeoutMs，或选择更快的模型。`,
  'summary.stopped': () => '摘要已停止。',
  'compaction.noGain': () => '压缩不会节省词元。',
  'retry.stricter': ({ provider, text }) =>
    `模型服务拒绝了请求${text === '' ? '' : `（${provider}：${text}）`}，正在不带思考和图片、以简单的工具调用编号重新发送。`,
};
