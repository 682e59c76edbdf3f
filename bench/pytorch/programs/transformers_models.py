"""Small models of Hugging Face's transformers with random weights: language, vision, speech, audio and time series."""
import torch

from common import Programs, adamw_foreach, infer, train

NEEDS = ('transformers',)
PROGRAMS = Programs()

NO_DROPOUT = {'hidden_dropout_prob': 0.0, 'attention_probs_dropout_prob': 0.0}
NO_GPT2_DROPOUT = {'resid_pdrop': 0.0, 'embd_pdrop': 0.0, 'attn_pdrop': 0.0}


def build(model, config, **options):
    import transformers
    transformers.logging.set_verbosity_error()
    return getattr(transformers, model)(getattr(transformers, config)(**options))


def tokens(count, length, vocabulary=1000):
    return torch.randint(5, vocabulary, (count, length))


def language_loss(model, words):
    return model(input_ids=words, labels=words).loss


def translation_loss(model, words, labels):
    return model(input_ids=words, labels=labels).loss


def image_loss(model, images, labels):
    return model(pixel_values=images, labels=labels).loss


def logits(model, words):
    return model(words).logits


def last_hidden_state(model, inputs):
    return model(inputs).last_hidden_state


def llama():
    return build('LlamaForCausalLM', 'LlamaConfig', vocab_size=1000, hidden_size=128, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, intermediate_size=344,
                 max_position_embeddings=256)


@PROGRAMS.add(tolerance=1e-2)
def bert_masked_language_train(device):
    model = build('BertForMaskedLM', 'BertConfig', vocab_size=1000, hidden_size=128, num_hidden_layers=3, num_attention_heads=4, intermediate_size=512, **NO_DROPOUT)
    return train(model, (tokens(4, 64),), language_loss, device)


@PROGRAMS.add(tolerance=1e-2)
def gpt2_train(device):
    model = build('GPT2LMHeadModel', 'GPT2Config', vocab_size=1000, n_positions=128, n_embd=128, n_layer=3, n_head=4, **NO_GPT2_DROPOUT)
    return train(model, (tokens(4, 64),), language_loss, device, clip=1.0)


@PROGRAMS.add(tolerance=5e-2)
def gpt2_autocast_bfloat16_train(device):
    model = build('GPT2LMHeadModel', 'GPT2Config', vocab_size=500, n_positions=128, n_embd=64, n_layer=2, n_head=4, **NO_GPT2_DROPOUT)

    def loss(model, words):
        with torch.autocast(device.type, dtype=torch.bfloat16):
            return language_loss(model, words)

    return train(model, (tokens(4, 64, 500),), loss, device)


@PROGRAMS.add(tolerance=1e-2)
def llama_train(device):
    return train(llama(), (tokens(4, 64),), language_loss, device)


@PROGRAMS.add(tolerance=6e-2)
def llama_bfloat16_forward(device):
    return infer(llama().bfloat16(), (tokens(2, 64),), device, logits)


@PROGRAMS.add()
def llama_decode_8_tokens(device):
    def decode(model, words):
        for _ in range(8):
            words = torch.cat([words, model(words, use_cache=False).logits[:, -1:].argmax(-1)], 1)
        return words

    return infer(llama(), (tokens(2, 16),), device, decode)


@PROGRAMS.add(tolerance=1e-2)
def t5_train(device):
    model = build('T5ForConditionalGeneration', 'T5Config', vocab_size=1000, d_model=128, d_kv=32, d_ff=256, num_layers=2, num_heads=4, dropout_rate=0.0, decoder_start_token_id=0)
    return train(model, (tokens(4, 32), tokens(4, 24)), translation_loss, device, adamw_foreach)


@PROGRAMS.add(tolerance=1e-2)
def vit_train(device):
    model = build('ViTForImageClassification', 'ViTConfig', image_size=64, patch_size=8, hidden_size=128, num_hidden_layers=3, num_attention_heads=4, intermediate_size=256, **NO_DROPOUT)
    return train(model, (torch.randn(4, 3, 64, 64), torch.randint(0, 2, (4,))), image_loss, device)


@PROGRAMS.add(tolerance=1e-2)
def whisper_train(device):
    model = build('WhisperForConditionalGeneration', 'WhisperConfig', vocab_size=1000, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
                  encoder_ffn_dim=128, decoder_ffn_dim=128, max_source_positions=100, num_mel_bins=80, dropout=0.0, pad_token_id=0, bos_token_id=1, eos_token_id=2,
                  decoder_start_token_id=1, suppress_tokens=None, begin_suppress_tokens=None)
    return train(model, (torch.randn(2, 80, 200), tokens(2, 24)), lambda model, sound, words: model(input_features=sound, labels=words).loss, device)


@PROGRAMS.add(tolerance=5e-3)
def mamba_forward(device):
    model = build('MambaForCausalLM', 'MambaConfig', vocab_size=1000, hidden_size=64, state_size=16, num_hidden_layers=2, use_cache=False)
    return infer(model, (tokens(2, 32),), device, logits)


@PROGRAMS.add(tolerance=5e-3)
def swinv2_forward(device):
    model = build('Swinv2Model', 'Swinv2Config', image_size=64, patch_size=4, embed_dim=32, depths=[2, 2], num_heads=[2, 4], window_size=4)
    return infer(model, (torch.randn(2, 3, 64, 64),), device, last_hidden_state)


@PROGRAMS.add(tolerance=1e-2)
def clip_train(device):
    layers = {'hidden_size': 64, 'intermediate_size': 128, 'num_hidden_layers': 2, 'num_attention_heads': 4}
    text = {'vocab_size': 1000, 'max_position_embeddings': 32, **layers}
    vision = {'image_size': 64, 'patch_size': 16, **layers}
    model = build('CLIPModel', 'CLIPConfig', text_config=text, vision_config=vision, projection_dim=64)
    return train(model, (tokens(4, 16), torch.randn(4, 3, 64, 64)), lambda model, words, images: model(input_ids=words, pixel_values=images, return_loss=True).loss, device)


@PROGRAMS.add(tolerance=5e-3)
def gpt_oss_mixture_of_experts_forward(device):
    model = build('GptOssForCausalLM', 'GptOssConfig', vocab_size=1000, hidden_size=64, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=16,
                  num_local_experts=4, num_experts_per_tok=2, sliding_window=16, max_position_embeddings=128, rope_scaling=None)
    return infer(model, (tokens(2, 32),), device, lambda model, words: model(words, use_cache=False).logits)


@PROGRAMS.add(tolerance=1e-2)
def segformer_train(device):
    model = build('SegformerForSemanticSegmentation', 'SegformerConfig', depths=[1, 1, 1, 1], hidden_sizes=[16, 32, 64, 96], num_attention_heads=[1, 2, 4, 4], decoder_hidden_size=64,
                  num_labels=5, classifier_dropout_prob=0.0, drop_path_rate=0.0, **NO_DROPOUT)
    return train(model, (torch.randn(2, 3, 64, 64), torch.randint(0, 5, (2, 64, 64))), image_loss, device)


@PROGRAMS.add(tolerance=5e-3)
def dpt_depth_forward(device):
    model = build('DPTForDepthEstimation', 'DPTConfig', hidden_size=64, num_hidden_layers=4, num_attention_heads=4, intermediate_size=128, image_size=64, patch_size=8,
                  backbone_out_indices=[0, 1, 2, 3], neck_hidden_sizes=[16, 32, 64, 64], fusion_hidden_size=32)
    return infer(model, (torch.randn(1, 3, 64, 64),), device, lambda model, images: model(images).predicted_depth)


@PROGRAMS.add(tolerance=5e-3)
def rwkv_forward(device):
    model = build('RwkvModel', 'RwkvConfig', vocab_size=1000, hidden_size=64, num_hidden_layers=2, context_length=64)
    return infer(model, (tokens(2, 24),), device, lambda model, words: model(words, use_cache=False).last_hidden_state)


@PROGRAMS.add(tolerance=1e-2)
def deberta_masked_language_train(device):
    model = build('DebertaV2ForMaskedLM', 'DebertaV2Config', vocab_size=1000, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, relative_attention=True,
                  pos_att_type=['p2c', 'c2p'], position_buckets=32, **NO_DROPOUT)
    return train(model, (tokens(2, 48),), language_loss, device)


@PROGRAMS.add(tolerance=5e-3)
def xlnet_forward(device):
    model = build('XLNetModel', 'XLNetConfig', vocab_size=1000, d_model=64, n_layer=2, n_head=4, d_inner=128, dropout=0.0)
    return infer(model, (tokens(2, 48),), device, lambda model, words: model(words, use_mems=False).last_hidden_state)


@PROGRAMS.add(tolerance=5e-3)
def nystromformer_forward(device):
    model = build('NystromformerModel', 'NystromformerConfig', vocab_size=1000, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
                  segment_means_seq_len=64, num_landmarks=8, max_position_embeddings=128)
    return infer(model, (tokens(2, 64),), device, last_hidden_state)


@PROGRAMS.add(tolerance=1e-2)
def fnet_masked_language_train(device):
    model = build('FNetForMaskedLM', 'FNetConfig', vocab_size=1000, hidden_size=64, num_hidden_layers=2, intermediate_size=128, hidden_dropout_prob=0.0, max_position_embeddings=128)
    return train(model, (tokens(2, 64),), language_loss, device)


@PROGRAMS.add(tolerance=5e-3)
def convbert_forward(device):
    model = build('ConvBertModel', 'ConvBertConfig', vocab_size=1000, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, embedding_size=64)
    return infer(model, (tokens(2, 64),), device, last_hidden_state)


@PROGRAMS.add(tolerance=1e-2)
def patchtst_forecast_train(device):
    model = build('PatchTSTForPrediction', 'PatchTSTConfig', num_input_channels=4, context_length=128, patch_length=16, patch_stride=8, prediction_length=24, d_model=64,
                  num_hidden_layers=2, num_attention_heads=4, ffn_dim=128, attention_dropout=0.0, head_dropout=0.0)
    return train(model, (torch.randn(4, 128, 4), torch.randn(4, 24, 4)), lambda model, past, future: model(past_values=past, future_values=future).loss, device)


@PROGRAMS.add(tolerance=5e-3)
def dac_audio_codec_forward(device):
    model = build('DacModel', 'DacConfig', encoder_hidden_size=16, downsampling_ratios=[2, 4], decoder_hidden_size=64, n_codebooks=3, codebook_size=64, codebook_dim=8, upsampling_ratios=[4, 2])
    return infer(model, (torch.randn(1, 1, 1024),), device, lambda model, sound: model(sound).audio_values)
