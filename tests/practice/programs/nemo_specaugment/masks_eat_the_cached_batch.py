"""NeMo-like: spectrogram masks are written into the features that the data layer caches: each epoch more of them is gone."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class CachedFeatureDataset(torch.utils.data.Dataset):
    """Features are computed once and kept in memory."""

    def __init__(self, n=6, mels=8, frames=24):
        generator = torch.Generator().manual_seed(1)
        self.features = [torch.rand(mels, frames, generator=generator) + 0.5 for _ in range(n)]
        self.labels = [i % 3 for i in range(n)]

    def __len__(self):
        return len(self.features)

    def __getitem__(self, i):
        return self.features[i], self.labels[i]


class SpecAugment(nn.Module):
    def __init__(self, freq_width=3, time_width=5, mask_value=0.0):
        super().__init__()
        self.freq_width, self.time_width, self.mask_value = freq_width, time_width, mask_value

    @torch.no_grad()
    def forward(self, spec):
        for one in spec:
            f = torch.randint(0, one.shape[0] - self.freq_width, ()).item()
            t = torch.randint(0, one.shape[1] - self.time_width, ()).item()
            one[f : f + self.freq_width] = self.mask_value
            one[:, t : t + self.time_width] = self.mask_value
        return spec


class EncDecClassificationModel(nn.Module):
    def __init__(self, mels=8):
        super().__init__()
        self.spec_augmentation = SpecAugment()
        self.encoder = nn.Conv1d(mels, 12, 3, padding=1)
        self.decoder = nn.Linear(12, 3)

    def forward(self, specs):
        if self.training:
            specs = self.spec_augmentation(specs)  # cause
        x = torch.stack([self.encoder(s[None])[0].relu().mean(-1) for s in specs])
        return self.decoder(x)


def collate(items):
    specs, labels = zip(*items)
    return list(specs), torch.tensor(labels)  # lengths differ in earnest: no stacking here


def run():
    torch.manual_seed(0)
    dataset = CachedFeatureDataset()
    loader = torch.utils.data.DataLoader(dataset, batch_size=3, shuffle=True, collate_fn=collate)
    model = EncDecClassificationModel()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    lost = []
    for _ in range(3):
        model.train()
        for specs, labels in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(specs), labels).backward()
            optimizer.step()
        lost.append(sum((f == 0).float().mean().item() for f in dataset.features) / len(dataset))
    return lost


def verify(outcome):
    assert 0 < outcome[0] < outcome[1] < outcome[2]


TRUTH = Truth(
    fault="SpecAugment writes into the cached features: the masks of all epochs add up in the data set",
    names=("spec_augmentation",),
    repair=("specs = self.spec_augmentation([s.clone() for s in specs])",),
)
